/**
 * Everything the page keeps, in this browser's IndexedDB: ratings, what protocols remember, the
 * capability, settings. Nothing of it is sent from here.
 */

/** The address of the page's folder; two services on one origin keep apart. */
export const HOME = new URL("./", document.baseURI);
const NAME = `discreet ${HOME.pathname}`;
const GONE = "Everything was forgotten in another tab; reload to begin anew.";
const PATIENCE = 5000;

/** @type {Promise<IDBDatabase> | null} */
let opened = null;
let gone = false;
const channel = new BroadcastChannel(NAME);
/** @type {(what: string, elsewhere: boolean) => void} */
let tell = () => {};

function open() {
  if (gone) return Promise.reject(new Error(GONE));
  opened ??= new Promise((done, fail) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => {
      for (const name of ["ratings", "kept"]) asked.result.createObjectStore(name);
    };
    asked.onsuccess = () => {
      // Another tab forgets: it can only if this one lets go, and keeps nothing from now on.
      asked.result.onversionchange = letGo;
      done(asked.result);
    };
    asked.onerror = () =>
      fail(new Error("This browser lets the page keep nothing; is this a private window?"));
  });
  return opened;
}

async function letGo() {
  gone = true;
  const database = opened;
  opened = null;
  (await database)?.close();
}

/**
 * One transaction; it is on disk when this resolves, and will be even if the page is left before.
 * @param {"ratings" | "kept"} name
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest[]} work
 * @returns {Promise<any[]>} what each request found
 */
async function run(name, mode, work) {
  const database = await open();
  return new Promise((done, fail) => {
    const transaction = database.transaction(name, mode, { durability: "strict" });
    const asked = work(transaction.objectStore(name));
    transaction.commit();
    transaction.oncomplete = () => done(asked.map((each) => each.result));
    transaction.onabort = () =>
      fail(new Error("This browser could not keep it; is its storage full?"));
  });
}

/** @returns {Promise<Map<string, {value: number, title: string, turn?: number}>>} own ratings by item id, by turns */
export async function ratings() {
  const [ids, values] = await run("ratings", "readonly", (s) => [s.getAllKeys(), s.getAll()]);
  const all = ids.map((/** @type {string} */ id, /** @type {number} */ i) => [id, values[i]]);
  return new Map(all.sort(([, one], [, other]) => (one.turn ?? 0) - (other.turn ?? 0)));
}

/**
 * Keep ratings; null takes one back.
 * @param {[string, {value: number, title: string, turn?: number} | null][]} changes
 */
export async function rate(changes) {
  await run("ratings", "readwrite", (s) =>
    changes.map(([id, rating]) => (rating ? s.put(rating, id) : s.delete(id))),
  );
  channel.postMessage("ratings");
}

/** @param {string} key @returns {Promise<any>} what is kept by this name, or undefined */
export async function read(key) {
  return (await run("kept", "readonly", (s) => [s.get(key)]))[0];
}

/** @param {string} key @param {any} value undefined removes it */
export async function write(key, value) {
  await run("kept", "readwrite", (s) => [value === undefined ? s.delete(key) : s.put(value, key)]);
  channel.postMessage("kept");
  tell("kept", false);
}

/**
 * Do something that no other tab does at the same time.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>}
 */
export const alone = (work) => navigator.locks.request(NAME, work);

/**
 * @param {(what: string, elsewhere: boolean) => void} listener told "ratings" or "forgotten" by other tabs,
 *   "kept" by this one too
 */
export function onChange(listener) {
  tell = listener;
  channel.onmessage = ({ data }) => {
    // It came to nothing: what is kept is there still.
    if (data === "not forgotten") gone = false;
    else listener(data, true);
  };
}

/** Remove everything: the service worker, the database, the caches. Other tabs are told once it is done. */
export async function forget() {
  try {
    const workers = (await navigator.serviceWorker?.getRegistrations()) ?? [];
    await Promise.all(workers.filter((w) => w.scope === HOME.href).map((w) => w.unregister()));
    await letGo();
    await deleteDatabase();
    const names = (await caches.keys()).filter((name) => name.endsWith(` ${HOME.pathname}`));
    await Promise.all(names.map((name) => caches.delete(name)));
  } catch (error) {
    gone = false;
    channel.postMessage("not forgotten");
    throw error;
  }
  channel.postMessage("forgotten");
}

const deleteDatabase = () =>
  new Promise((done, fail) => {
    const asked = indexedDB.deleteDatabase(NAME);
    asked.onsuccess = () => done(null);
    asked.onerror = () => fail(new Error("This browser did not let go of what was kept; nothing was forgotten."));
    asked.onblocked = () =>
      setTimeout(() => fail(new Error("Another tab still has it open, so nothing was forgotten. Close the other tabs and try again.")), PATIENCE);
  });

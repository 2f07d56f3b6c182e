/**
 * Everything the page keeps, in this browser's IndexedDB: ratings, what protocols remember, the
 * capability, settings. Nothing of it is sent from here.
 */
import { fail, words } from "./page/dom.js";

/** The address of the page's folder; two services on one origin keep apart. */
export const HOME = new URL("./", document.baseURI);
const NAME = `discreet ${HOME.pathname}`;
const STORES = ["ratings", "kept"];
const PATIENCE = 3000;

/** @type {Promise<IDBDatabase> | null} */
let opened = null;
let gone = false;
const channel = new BroadcastChannel(NAME);
/** @type {(what: string, elsewhere: boolean) => void} */
let tell = () => {};

async function open() {
  if (gone) fail("gone");
  opened ??= new Promise((done, refuse) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => {
      for (const name of STORES) asked.result.createObjectStore(name);
    };
    asked.onsuccess = () => {
      // Another tab forgets: it can only if this one lets go, and keeps nothing from now on.
      asked.result.onversionchange = letGo;
      done(asked.result);
    };
    asked.onerror = () => refuse(new Error(words("no-store")));
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
 * @param {string[]} names of object stores
 * @param {IDBTransactionMode} mode
 * @param {(...stores: IDBObjectStore[]) => IDBRequest[]} work
 * @returns {Promise<any[]>} what each request found
 */
async function run(names, mode, work) {
  const database = await open();
  return new Promise((done, refuse) => {
    const transaction = database.transaction(names, mode, { durability: "strict" });
    const asked = work(...names.map((name) => transaction.objectStore(name)));
    transaction.commit();
    transaction.oncomplete = () => done(asked.map((each) => each.result));
    transaction.onabort = () => refuse(new Error(words("not-stored")));
  });
}

/** @returns {Promise<Map<string, {value: number, title: string, turn?: number}>>} own ratings by item id, by turns */
export async function ratings() {
  const [ids, values] = await run(["ratings"], "readonly", (s) => [s.getAllKeys(), s.getAll()]);
  const all = ids.map((id, i) => [id, values[i]]);
  return new Map(all.sort(([, one], [, other]) => (one.turn ?? 0) - (other.turn ?? 0)));
}

/**
 * Keep ratings; null takes one back.
 * @param {[string, {value: number, title: string, turn?: number} | null][]} changes
 */
export async function rate(changes) {
  await run(["ratings"], "readwrite", (s) =>
    changes.map(([id, rating]) => (rating ? s.put(rating, id) : s.delete(id))),
  );
  channel.postMessage("ratings");
}

/** @param {string} key @returns {Promise<any>} what is kept by this name, or undefined */
export async function read(key) {
  return (await run(["kept"], "readonly", (s) => [s.get(key)]))[0];
}

/** @param {string} key @param {any} value undefined removes it */
export async function write(key, value) {
  await run(["kept"], "readwrite", (s) => [value === undefined ? s.delete(key) : s.put(value, key)]);
  channel.postMessage("kept");
  tell("kept", false);
}

/**
 * Do something that no other tab does at the same time.
 * @param {() => Promise<any>} work @returns {Promise<any>}
 */
export const alone = (work) => navigator.locks.request(NAME, work);

/**
 * @param {(what: string, elsewhere: boolean) => void} listener told "ratings" or what `forget` was told by other tabs,
 *   "kept" by this one too
 */
export function onChange(listener) {
  tell = listener;
  channel.onmessage = ({ data }) => {
    if (!STORES.includes(data)) letGo();
    listener(data, true);
  };
}

/** Something, or undefined if it fails or takes too long. @param {Promise<any>} work */
export const inTime = (work) => Promise.race([work, new Promise((done) => setTimeout(done, PATIENCE))]).catch(() => {});

/**
 * Remove everything. What is kept is emptied first, which no tab can stop; then the tabs let go and the empty database,
 * the worker and the caches go, none of which is waited for long.
 * @param {string} last what other tabs are told, once it is emptied
 * @returns {Promise<true | undefined>} whether the database is gone; if not, it goes when the tabs that hold it close
 * @throws {Error} Nothing was forgotten.
 */
export async function forget(last) {
  await run(STORES, "readwrite", (...all) => all.map((s) => s.clear())).catch(() => fail("not-forgotten"));
  channel.postMessage(last);
  await letGo();
  const isGone = await inTime(deleteDatabase());
  // The worker first: it would fill its cache again.
  await inTime(dropWorkers());
  await inTime(dropCaches());
  return isGone;
}

const deleteDatabase = () => new Promise((done) => (indexedDB.deleteDatabase(NAME).onsuccess = () => done(true)));

async function dropCaches() {
  const names = (await caches.keys()).filter((name) => name.endsWith(` ${HOME.pathname}`));
  await Promise.all(names.map((name) => caches.delete(name)));
}

async function dropWorkers() {
  const workers = (await navigator.serviceWorker?.getRegistrations()) ?? [];
  await Promise.all(workers.filter((w) => w.scope === HOME.href).map((w) => w.unregister()));
}

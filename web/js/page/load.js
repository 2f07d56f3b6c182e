/** The release: fetched once, kept in Cache Storage by its digest, checked every time it is read. */
import { load, predictorScripts } from "../predict.js";
import { areTexts, catalogDigest, placesOf, readRelease, sha256 } from "../release.js";
import { readScale } from "../scale.js";
import { ask, askJson } from "../service.js";
import { HOME, inTime } from "../store.js";
import { by, fail, sized, words } from "./dom.js";

const CACHE = `discreet release ${HOME.pathname}`;
const SCRIPTS = `discreet predictors ${HOME.pathname}`;
/** Seconds for all of it. */
const LONG = 600;
/** Bytes of a file that the page can hold. Chosen: in Chromium one of 217 MB (1.5 million titles) took 1.8 GB. */
const MOST = 256e6;
// Who has a copy need not wait for a service that does not even begin to answer.
const PATIENCE = 4;

/**
 * @typedef {{release: import("../release.js").Release, sha256: string, bytes: number, notice?: string, signer?: string}} Loaded
 *   notice: why it is not what the service has
 */

/**
 * The release that the service has; the one that is kept if that cannot be had or is no good.
 * @returns {Promise<Loaded | null>} null: none has been built yet
 * @throws {Error}
 */
export async function loadRelease() {
  const kept = await readKept();
  let notice, signer;
  try {
    const answer = await ask("GET", "v1/release", {
      why: kept ? "why-known" : "why-file", known: kept?.sha256, seconds: LONG, head: kept ? PATIENCE : LONG,
    });
    if (answer.status !== 304 || !kept) return await readAnswer(answer, kept);
    signer = await signerOf(answer, kept.sha256);
  } catch (error) {
    if (error.status === 404 && !kept) return null;
    if (!kept) throw error;
    notice = error.status === 0 ? words("offline") : words("kept-release", error.message);
  }
  await inTime(keepScripts(kept.release));
  return { ...kept, notice, signer };
}

/**
 * What comes, with a bar that shows how much of it is here.
 * @param {Response} answer @returns {Promise<ArrayBuffer | void>} nothing: it is too large, and the rest is left
 */
async function receive(answer) {
  const all = Number(answer.headers.get("discreet-bytes") ?? answer.headers.get("content-length"));
  const [bar, parts, reader] = [by("loading"), [], answer.body.getReader()];
  bar.hidden = false;
  for (let size = 0; ;) {
    if (all > MOST || size > MOST) return reader.cancel();
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size <= all) Object.assign(bar, { max: all, value: size });
    by("loaded").textContent = size < all ? words("loaded", sized(size), sized(all)) : sized(size);
  }
  return new Blob(parts).arrayBuffer();
}

async function readAnswer(answer, kept) {
  const buffer = await receive(answer).catch(() => fail("not-whole"));
  if (!buffer) fail("large", sized(MOST));
  const digest = await sha256(buffer);
  const tag = /^(?:W\/)?"([0-9a-f]{64})(?:-gzip)?"$/.exec(answer.headers.get("etag") ?? "")?.[1];
  if (tag && tag !== digest) fail("damaged", "");
  // Read before it is kept: what cannot be read is not worth keeping.
  const release = await readRelease(buffer).catch(({ message }) => fail(message.includes("newer") ? "newer" : "damaged", ` (${message})`));
  await inTime(keep(buffer, digest, release));
  // Not to be had in an old document's version: then what is kept is better.
  if (kept) await load(predictorScripts(release)[0]);
  return { release, sha256: digest, bytes: buffer.byteLength, signer: await signerOf(answer, digest) };
}

/** The key that signed this very file, where the service names one and the browser can check it; as release/_signature.py. */
async function signerOf(answer, digest) {
  const found = /^([0-9a-f]{64}) ([0-9a-f]{128})$/.exec(answer.headers.get("discreet-signature"));
  if (!found) return;
  // What is signed begins with "discreet release 1" and a line feed.
  const [key, sign, message] = [found[1], found[2], `64697363726565742072656c6561736520310a${digest}`].map((text) => Uint8Array.from(text.match(/../g), (byte) => +`0x${byte}`));
  const { subtle } = crypto;
  // An old browser cannot tell.
  const good = await subtle.importKey("raw", key, "Ed25519", false, ["verify"]).then((known) => subtle.verify("Ed25519", known, sign, message)).catch(() => {});
  return good && found[1];
}

const placeOf = (digest) => new URL(`v1/release?sha256=${digest}`, HOME).href;

/** Never without the scripts that read it: a worker of another version has none of them, so the next one is waited for. */
async function keep(buffer, digest, release) {
  await keepScripts(release);
  const workers = navigator.serviceWorker;
  if (workers?.controller && !(await caches.match(import.meta.url)))
    workers.addEventListener("controllerchange", () => put(buffer, digest).catch(() => {}), { once: true });
  else await put(buffer, digest);
}

async function put(buffer, digest) {
  if (!by("main")) return;
  const cache = await caches.open(CACHE);
  const old = await cache.keys();
  await cache.put(placeOf(digest), new Response(buffer));
  for (const place of old) if (place.url !== placeOf(digest)) await cache.delete(place);
}

/** All predictors of a release are loaded and kept, so that nobody can tell which one is chosen. */
async function keepScripts(release) {
  const scripts = predictorScripts(release);
  await Promise.all(scripts.map((script) => load(script)));
  if (!by("main")) return;
  const cache = await caches.open(SCRIPTS);
  for (const script of scripts) if (!(await cache.match(script))) await cache.add(script);
}

/** What is kept, if it is whole and can be read. @returns {Promise<Loaded | null>} */
async function readKept() {
  const cache = await caches.open(CACHE);
  for (const place of await cache.keys()) {
    const buffer = await (await cache.match(place))?.arrayBuffer();
    const digest = buffer && (await sha256(buffer));
    const release = place.url === placeOf(digest) && (await readRelease(buffer).catch(() => null));
    if (release) return { release, sha256: digest, bytes: buffer.byteLength };
    await cache.delete(place);
  }
  return null;
}

/** The catalogue and the scale that are collected on, which need not be the release's. */
export async function loadCatalog() {
  const { ids, titles, digest, origin, scale } = await askJson("GET", "v1/catalog", { why: "why-titles" });
  const named = titles ?? ids;
  if (![ids, named].every(areTexts) || named.length !== ids.length) fail("no-catalog");
  if ((await catalogDigest(ids, named)) !== digest) fail("bad-catalog");
  const { lo, hi, step } = readScale(scale);
  return { catalog: { ids, titles: named, origin, digest, find: placesOf(ids, named) }, scale: { lo, hi, step, presence: false } };
}

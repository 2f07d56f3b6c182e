/** The release: fetched once, kept in Cache Storage by its digest, checked every time it is read. */
import { catalogDigest, readRelease, sha256 } from "../release.js";
import { ask, askJson } from "../service.js";
import { HOME } from "../store.js";

const CACHE = `discreet release ${HOME.pathname}`;
const MINUTES = 10;

/**
 * The release that the service has, or offline the one that is kept.
 * @returns {Promise<{release: import("../release.js").Release, sha256: string, bytes: number, offline: boolean} | null>}
 *   null: none has been built yet
 * @throws {Error}
 */
export async function loadRelease() {
  const kept = await readKept();
  let answer;
  try {
    answer = await ask("GET", "v1/release", {
      why: kept ? "has the release changed?" : "the release", known: kept?.sha256, seconds: 60 * MINUTES,
    });
  } catch (error) {
    if (error.status === 404) return null;
    if (!kept) throw error;
    return { ...kept, release: await readRelease(kept.buffer), bytes: kept.buffer.byteLength, offline: error.status === 0 };
  }
  const found = answer.status === 304 && kept ? kept : await readAnswer(answer);
  // Read before it is kept: what cannot be read is not worth keeping.
  const release = await readRelease(found.buffer);
  if (found !== kept) await keep(found);
  return { release, sha256: found.sha256, bytes: found.buffer.byteLength, offline: false };
}

async function readAnswer(answer) {
  const buffer = await answer.arrayBuffer();
  const digest = await sha256(buffer);
  const tag = /^(?:W\/)?"([0-9a-f]{64})(?:-gzip)?"$/.exec(answer.headers.get("etag") ?? "")?.[1];
  if (tag && tag !== digest) throw new Error("The release was damaged on its way here; reload to fetch it again.");
  return { buffer, sha256: digest };
}

const placeOf = (digest) => new URL(`v1/release?sha256=${digest}`, HOME).href;

async function keep({ buffer, sha256: digest }) {
  const cache = await caches.open(CACHE);
  for (const old of await cache.keys()) await cache.delete(old);
  await cache.put(placeOf(digest), new Response(buffer));
}

async function readKept() {
  const cache = await caches.open(CACHE);
  for (const place of await cache.keys()) {
    const buffer = await (await cache.match(place))?.arrayBuffer();
    const digest = buffer && (await sha256(buffer));
    if (place.url === placeOf(digest)) return { buffer, sha256: digest };
    await cache.delete(place);
  }
  return null;
}

/** The catalogue and the scale that are collected on, which need not be the release's. */
export async function loadCatalog() {
  const told = await askJson("GET", "v1/catalog", { why: "the titles" });
  const { ids, titles = null, digest, origin, scale } = told;
  const texts = (list) => Array.isArray(list) && list.every((text) => typeof text === "string");
  if (!texts(ids) || !(titles === null || (texts(titles) && titles.length === ids.length)))
    throw new Error("The service sent no catalogue.");
  const named = titles ?? ids;
  if ((await catalogDigest(ids, named)) !== digest) throw new Error("The catalogue is not what its digest says.");
  const places = new Map([...named.entries(), ...ids.entries()].map(([i, name]) => [name, i]));
  const { readScale } = await import("../protocol.js");
  const { lo, hi, step } = readScale(scale);
  return { catalog: { ids, titles: named, origin, digest, find: (name) => places.get(name) }, scale: { lo, hi, step, presence: false } };
}

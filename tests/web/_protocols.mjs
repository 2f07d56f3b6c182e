// Catalogues and announced collections for the tests of the protocol clients.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { Random } from "../../web/js/random.js";

export const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** Items whose ids are "0", "1", ..., or from another number on, and the titles too if none are told. */
export function catalogOf(items, first = 0, titles = undefined) {
  const ids = Array.from({ length: items }, (_, i) => String(first + i));
  const named = titles ?? ids;
  const sha = createHash("sha256").update("discreet catalogue 1\n");
  for (const text of [...ids, ...named]) {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(text.length));
    sha.update(size).update(text);
  }
  const places = new Map([...named.entries(), ...ids.entries()].map(([i, name]) => [name, i]));
  return { ids, titles: named, digest: sha.digest("hex"), find: (name) => places.get(name) };
}

/** What a server of local reports would announce. */
export function announceLocal(catalog, told = {}) {
  const given = { scale: "1..5", mechanism: "modified-laplace", epsilon_thousandths: 1000, epoch: 1, ...told };
  const { scale, mechanism, epsilon_thousandths: thousandths } = given;
  const { parts, continuous } = { "1..5": { parts: 4 }, "0.5..5/0.5": { parts: 9 } }[scale] ?? { continuous: true };
  const reach = continuous ? 100 : parts % 2 ? parts : parts / 2;
  const laplace = mechanism === "modified-laplace";
  const largest = laplace ? reach + Math.ceil((40_000 * reach) / thousandths) : mechanism === "rounded-response" ? 2 : parts + 1;
  const lines = ["discreet local-reports 1", catalog.digest, scale, mechanism, thousandths];
  return {
    protocol: "local-reports", version: 1, type: "collection", catalog: catalog.digest,
    items: catalog.ids.length, ...given, reach, least: laplace ? -largest : 1, largest,
    number: laplace ? (largest < 2 ** 15 ? "int16" : "int32") : "uint8", digest: sha256(lines.join("\n")),
  };
}

/** What a server of open clusters would announce. */
export function announceOpen(catalog, told = {}) {
  return {
    protocol: "open-clusters", version: 1, items: catalog.ids.length, catalog: catalog.digest,
    scale: "1..5", bits: 8, hash: "orthogonal", beacon: "", fakes: "around-mean", fake_percent: 100,
    suppress_percent: 0, least: 80, hash_on: "true", bit_epsilon_thousandths: 0, epoch: 0, ...told,
  };
}

export const copy = (memory) => JSON.parse(JSON.stringify(memory));

/** Ratings by item. */
export function ownOf(ratings) {
  const items = Object.keys(ratings).map(Number).sort((one, other) => one - other);
  return { items: Int32Array.from(items), values: Float64Array.from(items, (item) => ratings[item]) };
}

/** These bytes and no others: nothing made with them is private. */
export function fixedRandom(given) {
  let at = 0;
  return new Random((bytes) => {
    if (at + bytes.length > given.length) throw new Error("the fixed bytes are used up");
    bytes.set(given.subarray(at, (at += bytes.length)));
  });
}

/** For clients that have no reason to draw. */
export const never = new Random(() => assert.fail("something was drawn"));

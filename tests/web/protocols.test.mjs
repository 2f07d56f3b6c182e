// What the browser's protocol clients do beside what Python does: the same laws to the last bit, the
// same messages to the byte from the same random bytes.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { makeHash } from "../../web/js/cluster_hash.js";
import * as local from "../../web/js/local_reports.js";
import * as noise from "../../web/js/noise.js";
import * as coins from "../../web/js/coins.js";
import * as open from "../../web/js/open_clusters.js";
import { drawBelow, Random } from "../../web/js/random.js";
import { catalogOf } from "./_protocols.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), "utf8"));
const golden = read("protocols.json");
const sha256 = (...parts) => parts.reduce((sha, part) => sha.update(part), createHash("sha256"));
const hex = (digits) => BigInt(`0x${digits}`);

/** Some first bytes, then SHA-256 of "name 0", of "name 1", ... as far as they are asked for. */
function stream(name, first = Buffer.alloc(0)) {
  let [left, next] = [first, 0];
  return new Random((bytes) => {
    const parts = [left];
    for (let size = left.length; size < bytes.length; size += 32) parts.push(sha256(`${name} ${next++}`).digest());
    const whole = Buffer.concat(parts);
    bytes.set(whole.subarray(0, bytes.length));
    left = whole.subarray(bytes.length);
  });
}

function littleEndian(...numbers) {
  const parts = numbers.map(([number, bytes]) => {
    const part = Buffer.alloc(8);
    part.writeBigUInt64LE(BigInt(number));
    return part.subarray(0, bytes);
  });
  return Buffer.concat(parts);
}

function brief(message) {
  const text = JSON.stringify(message);
  return text.length <= 400 ? text : sha256(text).digest("hex");
}

const ownOf = ([items, values]) => ({ items: Int32Array.from(items), values: Float64Array.from(values) });

/** The scale of the noise: the next float above. */
function noiseScale({ reach, epsilon }) {
  const bits = Buffer.alloc(8);
  bits.writeDoubleLE((2 * reach) / epsilon);
  bits.writeBigUInt64LE(bits.readBigUInt64LE() + 1n);
  return bits.readDoubleLE();
}

test("chances to keep are Python's to the last bit, and ties are broken as there", () => {
  for (const { ways, exponent, bits, ties } of golden.keeps) {
    const found = [64, 128, 320].map((count) => coins.keepThreshold(ways, exponent, count));
    assert.deepEqual(found, bits.map(hex));
    const word = littleEndian([hex(bits[0]), 8]);
    const flipped = ties.map((_, i) => coins.flipCoins(ways, exponent, 1, stream(`tie ${i}`, word))[0]);
    assert.deepEqual(flipped, ties);
  }
});

test("cells of the noise and refusals in them are Python's to the last bit", () => {
  for (const told of golden.cells) {
    for (const bits of [63, 127].filter((count) => told[count])) {
      const edges = noise.noiseEdges(noiseScale(told), bits).map((edge) => edge.toString(16));
      const { first, count, digest } = told[bits];
      assert.deepEqual([edges[0], edges.length], [first, count]);
      assert.equal(sha256(edges.join(" ")).digest("hex"), digest);
    }
    const word = littleEndian([hex(told[63].first) << 1n, 8]);
    for (const [i, drawn] of (told.ties ?? []).entries())
      assert.deepEqual([...noise.drawNoise(noiseScale(told), 1, stream(`tie ${i}`, word))], [drawn]);
  }
  for (const told of golden.refusals) {
    const scale = noiseScale(told);
    const found = [32, 96].map((count) => noise.rejectThreshold(scale, told.inside, count));
    assert.deepEqual(found, told.bits.map(hex));
    const place = BigInt(told.inside) << BigInt(64 - told.shift);
    const first = littleEndian([hex(told.middle), 8], [place, 8], [hex(told.bits[0]), 4]);
    for (const [i, drawn] of told.ties.entries())
      assert.deepEqual([...noise.drawNoise(scale, 1, stream(`tie ${i}`, first))], [drawn]);
  }
});

test("whole numbers below a bound refuse the words that Python refuses", () => {
  const high = littleEndian(...[0, 0, 0, 7, 0].map((word) => [word || 2n ** 64n - 1n, 8]));
  for (const { bound, drawn } of golden.below)
    assert.deepEqual([...drawBelow(bound, 4, stream("below", high))], drawn);
});

test("how many items show is Python's number for every word, ties among them", () => {
  for (const { items, ways, exponent, words, drawn } of golden.counts) {
    const found = words.map((word) => {
      const random = stream(`more ${word}`, littleEndian([hex(word), 8]));
      return noise.drawBinomial(items, ways, exponent, random);
    });
    assert.deepEqual(found, drawn);
  }
});

test("the cluster hash is Python's to the bit", async () => {
  for (const one of read("open_clusters_hash.json").cases) {
    const size = one.ids?.length ?? one.items;
    const hash = await makeHash({ ...one, digest: one.catalog, items: size, kind: one.hash });
    const rows = hash.vectors.map((q) => new Uint8Array(q.buffer));
    assert.equal(sha256(...rows).digest("hex"), one.vectors);
    const values = one.people.map((person) => hash.value(person.items, person.codes));
    assert.deepEqual(values, one.values);
  }
});

test("local reports are Python's to the byte", async () => {
  for (const [number, { items, collection, steps, perRating, perUser }] of golden.local.entries()) {
    const [catalog, memory] = [catalogOf(items), {}];
    const random = stream(`local ${number}`);
    let client;
    for (const { epoch, own, message } of steps) {
      const terms = await local.readCollection({ ...collection, epoch }, catalog);
      client = new local.LocalClient(terms, memory, { random });
      const told = client.report(ownOf(own));
      assert.equal(brief(told), message, `case ${number}`);
      assert.equal(local.readReport(told, terms).items.every((item) => item < items), true);
    }
    const { spent } = client; // Python rounds sums up by a last bit
    assert.ok(Math.abs(spent.perRating / perRating - 1) < 1e-12 && Math.abs(spent.perUser / perUser - 1) < 1e-12);
  }
});

test("uploads of open clusters are Python's to the byte, and so is what is remembered", async () => {
  for (const [number, told] of golden.open.entries()) {
    const { items, collection, changes, options, steps, sentences, obfuscation, answers } = told;
    // The command line alone reveals all, sends the hash alone, or has stricter terms than the collection.
    if (Object.keys(options).some((name) => name !== "batch")) continue;
    const memory = {};
    const random = stream(`open ${number}`);
    const popularity = Float64Array.from({ length: items }, (_, i) => i % 17);
    let client;
    for (const { first, terms: which, own, message } of steps) {
      const terms = await open.readCollection({ ...collection, ...changes[which] }, catalogOf(items, first));
      client = new open.OpenClient(terms, memory, { ...options, popularity, random });
      assert.equal(brief(await client.report(ownOf(own))), message, `case ${number}, ${steps.findIndex((step) => step.own === own)}`);
    }
    assert.deepEqual(client.standing().sentences(), sentences);
    assert.equal(brief(memory.obfuscation ?? {}), obfuscation);
    assert.deepEqual(memory.answers ?? {}, answers);
  }
});

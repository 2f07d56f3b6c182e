// The cluster hash as a browser would compute it, from its specification alone: reads the golden
// cases on standard input and prints the hash values and the vectors' digests that it finds.
import { createCipheriv, createHash } from "node:crypto";

const LARGEST = [
  150, 150, 154, 187, 216, 242, 267, 289, 310, 330, 349, 367, 385, 401, 417, 433, 448, 463, 477,
  491, 504, 517, 530, 542, 555, 567, 579, 590, 601, 613, 624, 634, 645, 655, 666, 676, 686, 696,
  705,
];
const sha256 = (...parts) => {
  const sha = createHash("sha256");
  parts.forEach((part) => sha.update(part));
  return sha.digest();
};
const bigEndian = (number, bytes) => {
  const out = Buffer.alloc(bytes);
  out.writeBigUInt64BE(BigInt(number), bytes - 8);
  return out;
};
const short = (number) => bigEndian(number, 8).subarray(4);

function catalogDigest(ids, titles) {
  const parts = [Buffer.from("discreet catalogue 1\n")];
  for (const text of [...ids, ...titles]) {
    const raw = Buffer.from(text, "utf8");
    parts.push(bigEndian(raw.length, 8), raw);
  }
  return sha256(...parts);
}

function draw(seed, items, round, vector, attempt) {
  const key = sha256(seed, short(round), short(vector), short(attempt));
  const stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(8 * items));
  const x = new Float64Array(items);
  for (let j = 0; j < items; j++) {
    let sum = 0;
    for (let b = 0; b < 8; b++) sum += stream[8 * j + b];
    x[j] = 2 * sum - 2040;
  }
  return x;
}

function product(one, other) {
  let sum = 0;
  for (let j = 0; j < one.length; j++) sum += one[j] * other[j];
  return sum;
}

function unit(earlier, x, k, kind) {
  const d = x.length;
  const y = Float64Array.from(x);
  if (kind === "orthogonal")
    for (const e of earlier) {
      const t = product(y, e);
      for (let j = 0; j < d; j++) y[j] = y[j] - t * e[j];
    }
  const square = product(y, y);
  const length = Math.sqrt(square);
  if (kind === "orthogonal") {
    let m = 2;
    while (2 ** m < 4 * k * d) m++;
    let largest = 0;
    for (const one of y) largest = Math.max(largest, Math.abs(one));
    if (square * 2 ** 20 <= product(x, x)) return null;
    if (largest * Math.sqrt(d) * 100 > LARGEST[m - 2] * length) return null;
  }
  return length > 0 ? y.map((one) => one / length) : null;
}

function vectors(seed, items, k, kind) {
  for (let round = 0; round < 64; round++) {
    const found = [];
    for (let vector = 0; vector < k && found.length === vector; vector++)
      for (let attempt = 0; attempt < 64 && found.length === vector; attempt++) {
        const e = unit(found, draw(seed, items, round, vector, attempt), k, kind);
        if (e) found.push(e);
      }
    if (found.length === k)
      return found.map((e) => Int32Array.from(e, (one) => Math.floor(one * 2 ** 24 + 0.5)));
  }
  throw new Error("no vectors");
}

function hashOf(rows, items, codes) {
  const total = codes.reduce((sum, code) => sum + code, 0);
  let value = 0;
  rows.forEach((q, bit) => {
    let weighted = 0;
    let plain = 0;
    items.forEach((item, place) => {
      weighted += q[item] * codes[place];
      plain += q[item];
    });
    const margin = BigInt(items.length) * BigInt(weighted) - BigInt(total) * BigInt(plain);
    if (margin >= 0n) value += 2 ** bit;
  });
  return value;
}

let text = "";
for await (const chunk of process.stdin) text += chunk;
const answers = JSON.parse(text).cases.map((one) => {
  const ids = one.ids ?? Array.from({ length: one.items }, (_, i) => String(i));
  const titles = one.titles ?? ids;
  const digest = catalogDigest(ids, titles);
  const seed = sha256(Buffer.from("discreet cluster hash 1\n"), digest, Buffer.from(one.beacon, "utf8"));
  const rows = vectors(seed, ids.length, one.bits, one.hash);
  const sha = createHash("sha256");
  rows.forEach((q) => sha.update(Buffer.from(q.buffer)));
  return {
    catalog: digest.toString("hex"),
    vectors: sha.digest("hex"),
    values: one.people.map((person) => hashOf(rows, person.items, person.codes)),
  };
});
console.log(JSON.stringify(answers));

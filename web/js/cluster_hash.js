/** The public hash that puts people of like taste into one bucket; specified in docs/explanation/protocols.md. */
import { sha256 } from "./release.js";

// Z of the specification by m - 2: no component of a vector is larger.
const LARGEST = [
  150, 150, 154, 187, 216, 242, 267, 289, 310, 330, 349, 367, 385, 401, 417, 433, 448, 463, 477, 491,
  504, 517, 530, 542, 555, 567, 579, 590, 601, 613, 624, 634, 645, 655, 666, 676, 686, 696, 705,
];
const ATTEMPTS = 64;

const joined = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));
const fromHex = (digits) => Uint8Array.from(digits.match(/../g), (byte) => parseInt(byte, 16));
const bigEndian = (number) => fromHex(number.toString(16).padStart(8, "0"));

async function draw(seed, items, ...numbers) {
  const secret = fromHex(await sha256(joined(seed, ...numbers.map(bigEndian))));
  const key = await crypto.subtle.importKey("raw", secret, "AES-CTR", false, ["encrypt"]);
  const how = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
  const stream = new Uint8Array(await crypto.subtle.encrypt(how, key, new Uint8Array(8 * items)));
  const x = new Float64Array(items).fill(-2040);
  for (let at = 0; at < stream.length; at++) x[at >> 3] += 2 * stream[at];
  return x;
}

function product(one, other) {
  let sum = 0;
  for (let j = 0; j < one.length; j++) sum += one[j] * other[j];
  return sum;
}

/** A unit vector of what was drawn, orthogonal to earlier ones; null if it is refused. */
function unitOf(x, earlier, bits, kind) {
  const [y, orthogonal] = [x.slice(), kind === "orthogonal"];
  for (const e of orthogonal ? earlier : []) {
    const t = product(y, e);
    for (let j = 0; j < y.length; j++) y[j] -= t * e[j];
  }
  const square = product(y, y);
  const length = Math.sqrt(square);
  if (!length) return null;
  if (orthogonal) {
    const m = Math.max(2, 32 - Math.clz32(4 * bits * y.length - 1));
    const largest = y.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    const close = square * 2 ** 20 <= product(x, x);
    if (close || largest * Math.sqrt(y.length) * 100 > LARGEST[m - 2] * length) return null;
  }
  return y.map((one) => one / length);
}

async function vectorsOf(seed, items, bits, kind) {
  for (let round = 0; round < ATTEMPTS; round++) {
    const found = [];
    for (let at = 0; at < ATTEMPTS && found.length < bits; at++) {
      const unit = unitOf(await draw(seed, items, round, found.length, at), found, bits, kind);
      if (unit) found.push(unit);
      if (unit) at = -1;
    }
    if (found.length === bits)
      return found.map((e) => Int32Array.from(e, (one) => Math.floor(one * 2 ** 24 + 0.5)));
  }
  throw new Error(`no ${bits} vectors without a large component for ${items} items`);
}

/**
 * @param {{digest: string, items: number, bits: number, kind?: string, beacon?: string}} of the
 *   catalogue's digest and size, how many bits, `orthogonal` or `lsh`, the beacon
 * @returns {Promise<{bits: number, vectors: Int32Array[], value: Function}>} vectors in units of 2^-24;
 *   value(items, codes): the hash of one person, whose codes are on the scale's grid (scale.js, toGrid)
 */
export async function makeHash({ digest, items, bits, kind = "orthogonal", beacon = "" }) {
  const whole = Number.isInteger(bits) && bits >= 1 && bits <= 16;
  if (!whole || !(items >= bits && items <= 1e6) || !["orthogonal", "lsh"].includes(kind))
    throw new Error("a cluster hash has 1 to 16 bits, and as many items or more, up to a million");
  const text = new TextEncoder();
  const seed = joined(text.encode("discreet cluster hash 1\n"), fromHex(digest), text.encode(beacon));
  const vectors = await vectorsOf(fromHex(await sha256(seed)), items, bits, kind);
  const value = (rated, codes) => {
    const [n, total] = [rated.length, codes.reduce((sum, code) => sum + code, 0)];
    return vectors.reduce((hash, q, bit) => {
      let [weighted, plain] = [0, 0];
      for (let i = 0; i < n; i++) {
        weighted += q[rated[i]] * codes[i];
        plain += q[rated[i]];
      }
      const margin = BigInt(n) * BigInt(weighted) - BigInt(total) * BigInt(plain);
      return margin >= 0n ? hash + 2 ** bit : hash;
    }, 0);
  };
  return { bits, vectors, value };
}

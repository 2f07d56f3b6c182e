/** Noise and numbers of fakes whose law is exact, as coins.js says; for local reports. */
import { expNegative, firstBits, once, ratio, SLACK } from "./coins.js";
import { drawBelow } from "./random.js";

const CHUNK = 1 << 15;

/** Cells of the noise's magnitude hold 2^shift integers: 2^8 to 2^9 cells a scale, or finer. */
const shiftOf = (scale) => Math.max(0, 23 - Math.clz32(scale));

/**
 * The first bits of P(|k| within cells 0..c) = 1 - 2 q^((c+1) 2^shift)/(1 + q), q = exp(-1/scale), for
 * c = 0, 1, ... until all bits are set: fewer than 2^17 steps, each of which adds an error of 2.
 */
export const noiseEdges = (scale, bits) =>
  once(`edges ${scale} ${bits}`, () => {
    const [n, d] = ratio(scale);
    for (let guard = 64n; ; guard *= 2n) {
      const p = BigInt(bits) + guard;
      const one = 1n << p;
      const factor = (2n * one * one) / (one + expNegative(d, n, p));
      const step = expNegative(d << BigInt(shiftOf(scale)), n, p);
      const found = [];
      for (let power = step, sure = true; sure; power = (power * step) >> p) {
        const edge = one - ((power * factor) >> p);
        const low = (edge - SLACK) >> guard;
        sure = low === (edge + SLACK) >> guard;
        if (sure) found.push(low);
        if (sure && low === (1n << BigInt(bits)) - 1n) return found;
      }
    }
  });

/** The cell of a uniform number that begins with these 63 bits. */
function cellOf(scale, point, random) {
  for (let bits = 63; ; bits += 64) {
    const edges = noiseEdges(scale, bits);
    let low = 0;
    for (let high = edges.length - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (edges[middle] < point) low = middle + 1;
      else high = middle;
    }
    if (edges[low] !== point) return low;
    point = (point << 64n) | random.more();
  }
}

/** The first bits of 1 - q^inside, the chance that a place in a cell is refused. */
export const rejectThreshold = (scale, inside, bits) =>
  once(`reject ${scale} ${inside} ${bits}`, () => {
    const [n, d] = ratio(scale);
    if (!inside) return 0n;
    return firstBits((p) => (1n << BigInt(p)) - expNegative(d * BigInt(inside), n, p), bits);
  });

function accepts(scale, inside, magnitude, half, random) {
  // 0 has one sign, the others two.
  if (!magnitude) return half >= 2 ** 31;
  for (let bits = 32, coin = BigInt(half); ; bits += 64) {
    const threshold = rejectThreshold(scale, inside, bits);
    if (coin !== threshold) return coin > threshold;
    // Of the place, as Python does: its first bits were enough.
    random.more();
    coin = (coin << 64n) | random.more();
  }
}

function fill(scale, out, random) {
  const [shift, words] = [shiftOf(scale), random.words(out.length)];
  const coarse = shift ? out.length : 0;
  let [places, coins] = [random.words(coarse), random.halfWords(coarse)];
  out.set(Array.from(words, (word) => cellOf(scale, word >> 1n, random) * 2 ** shift));
  let open = shift ? [...out.keys()] : [];
  while (open.length) {
    open = open.filter((i, at) => {
      const inside = Number(places[at] >> BigInt(64 - shift));
      const refused = !accepts(scale, inside, out[i] + inside, coins[at], random);
      if (!refused) out[i] += inside;
      return refused;
    });
    [places, coins] = [random.words(open.length), random.halfWords(open.length)];
  }
  words.forEach((word, i) => word & 1n && (out[i] = -out[i]));
}

/** Independent draws of the two-sided geometric law, P(k) ~ exp(-|k|/scale), scales below 2^20. */
export function drawNoise(scale, count, random) {
  const out = new Int32Array(count);
  for (let at = 0; at < count; at += CHUNK) fill(scale, out.subarray(at, at + CHUNK), random);
  return out;
}

/**
 * Weights of a binomial around its mode: the first number, and sums up to it, the next, ... What is left
 * out has a probability below 2^-(bits + 26), by Bernstein's inequality. As odds are above 2^-73, each
 * step adds an error below 2^76, with 2^(bits + 160) at the mode: below 2^-(bits + 45) of the sum.
 * @returns {[number, bigint[]]}
 */
function weights(items, ways, exponent, bits) {
  const one = 1n << BigInt(bits + 160);
  const odds = BigInt(ways) * expNegative(...ratio(exponent), bits + 160);
  const about = ways * Math.exp(-exponent);
  const share = about / (1 + about);
  const mode = Math.min(Math.floor((items + 1) * share), items);
  const log = (bits + 27) * Math.LN2;
  const reach = Math.ceil(log / 3 + Math.sqrt(log ** 2 / 9 + 2 * log * items * share * (1 - share))) + 2;
  const [first, last] = [Math.max(mode - reach, 0), Math.min(mode + reach, items)];
  const found = [one];
  for (let k = mode, weight = one; k > first; k--)
    found.push((weight = (weight * BigInt(k) * one) / (BigInt(items - k + 1) * odds)));
  found.reverse();
  for (let k = mode, weight = one; k < last; k++)
    found.push((weight = (weight * BigInt(items - k) * odds) / (BigInt(k + 1) * one)));
  let sum = 0n;
  return [first, found.map((weight) => (sum += weight))];
}

/**
 * How many of `items` (at most 2^24) show, each with odds ways e^-exponent to 1, exponent at most 50:
 * the distribution function inverted at a uniform number.
 * @param {number} items @param {number} ways @param {number} exponent @param {any} random
 */
export function drawBinomial(items, ways, exponent, random) {
  for (let leading = random.words(1)[0], bits = 64; ; bits += 64) {
    const [first, sums] = once(`sums ${items} ${ways} ${exponent} ${bits}`, () =>
      weights(items, ways, exponent, bits),
    );
    /** @type {bigint} */
    const total = sums.at(-1);
    // Of the uniform number's last bit.
    const slack = total >> 24n;
    const low = leading * total - slack;
    const cell = sums.findIndex((sum) => low < sum << BigInt(bits));
    const ends = first + cell === items || low + total + 2n * slack <= sums[cell] << BigInt(bits);
    if (ends && (cell || !first)) return first + cell;
    leading = (leading << 64n) | random.more();
  }
}

/** A set of `count` numbers from 0 to before `among`, rising; every such set is as likely. */
export function drawPlaces(count, among, random) {
  const wanted = Math.min(count, among - count);
  const marked = new Uint8Array(among);
  for (let missing = wanted; missing; )
    for (const place of drawBelow(among, missing, random)) {
      missing -= 1 - marked[place];
      marked[place] = 1;
    }
  const [found, chosen] = [new Int32Array(count), wanted === count ? 1 : 0];
  let at = 0;
  marked.forEach((mark, place) => mark === chosen && (found[at++] = place));
  return found;
}

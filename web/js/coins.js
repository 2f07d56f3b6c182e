/**
 * Coins whose law is exact. A uniform number is known by its first bits, which are compared as a whole
 * number with the first bits of a threshold; where they are equal more are drawn. No float decides.
 */

/** A float as numerator and denominator, exactly. */
export function ratio(x) {
  let d = 1n;
  for (; !Number.isInteger(x); x *= 2) d *= 2n;
  return [BigInt(x), d];
}

/**
 * 2^p exp(-n/d), from 1 below to 1 above. n/d is below 2^10: at most 18 squarings double the error of
 * the series, below 2^12 of its last bits, and 64 further bits are carried.
 */
export function expNegative(n, d, p) {
  const bits = BigInt(p) + 64n;
  const halvings = BigInt((n / d).toString(2).length + 8);
  const y = (n << bits) / (d << halvings);
  let sum = 1n << bits;
  for (let term = sum, k = 1n; term; k++) {
    term = ((term * y) >> bits) / k;
    sum += k & 1n ? -term : term;
  }
  for (let i = 0n; i < halvings; i++) sum = (sum * sum) >> bits;
  return sum >> 64n;
}

/** Above every error of an approximation, in its last bits. */
export const SLACK = 1n << 24n;

/** floor(2^bits x) for an irrational x, from `near(p)`, which is within SLACK of 2^p x. */
export function firstBits(near, bits) {
  for (let guard = 64; ; guard *= 2) {
    const found = near(bits + guard);
    const low = (found - SLACK) >> BigInt(guard);
    if (low === (found + SLACK) >> BigInt(guard)) return low;
  }
}

const cache = new Map();

/** What was made by this name, at most a thousand things at a time. */
export function once(name, make) {
  if (!cache.has(name)) {
    if (cache.size > 1000) cache.clear();
    cache.set(name, make());
  }
  return cache.get(name);
}

/** The first bits of 1/(1 + ways e^-exponent), as a whole number. */
export const keepThreshold = (ways, exponent, bits) =>
  once(`keep ${ways} ${exponent} ${bits}`, () =>
    firstBits((p) => {
      const one = 1n << BigInt(p);
      return (one * one) / (one + BigInt(ways) * expNegative(...ratio(exponent), p));
    }, bits),
  );

/** Independent coins, true with probability 1/(1 + ways e^-exponent). */
export function flipCoins(ways, exponent, count, random) {
  return Array.from(random.words(count), (word) => {
    for (let bits = 64; ; bits += 64) {
      const threshold = keepThreshold(ways, exponent, bits);
      if (word !== threshold) return word < threshold;
      word = (word << 64n) | random.more();
    }
  });
}

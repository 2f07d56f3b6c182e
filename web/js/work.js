/**
 * Proof of work, in a worker: told a challenge and a number of bits, it looks for a nonce for which SHA-256 of
 * "challenge:nonce" begins with so many bits of 0. It tells how many it has tried, and at last the nonce.
 */
const isPrime = (n) => !Array.from({ length: n }, (_, i) => i).some((i) => i > 1 && n % i === 0);
const PRIMES = Array.from({ length: 312 }, (_, i) => i).filter((n) => n > 1 && isPrime(n));
/** The first 32 bits of what follows the point. */
const fraction = (number) => ((number % 1) * 2 ** 32) | 0;
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const ROUNDS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
/** Four hexadecimal digits as one big-endian word of ASCII. */
const DIGITS = Int32Array.from({ length: 1 << 16 }, (_, n) =>
  [...n.toString(16).padStart(4, "0")].reduce((word, digit) => (word << 8) | digit.charCodeAt(0), 0),
);
/** Tries between two words to the page: some hundredths of a second. */
const OFTEN = 1 << 16;
const turn = (x, by) => (x >>> by) | (x << (32 - by));

/** SHA-256's compression of a block, whose first 16 words are in `w`, into another state; or its first word alone. */
function compress(state, w, out, isWhole) {
  for (let i = 16; i < 64; i++) {
    const early = w[i - 15];
    const late = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
  }
  // One by one: this is where the time goes, and an array would be walked.
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i++) {
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
    const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  out[0] = state[0] + a;
  if (isWhole) [b, c, d, e, f, g, h].forEach((word, i) => (out[i + 1] = state[i + 1] + word));
}

onmessage = ({ data: { challenge, bits } }) => {
  // The nonce begins with zeros that fill a block, so that each try costs one block: eight more digits.
  const filled = -(challenge.length + 1) & 63;
  const text = `${challenge}:${"0".repeat(filled)}`;
  const [state, w, out] = [START.slice(), new Int32Array(64), new Int32Array(8)];
  for (let at = 0; at < text.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = [0, 1, 2, 3].reduce((word, n) => (word << 8) | text.charCodeAt(at + 4 * i + n), 0);
    compress(state, w, out, true);
    state.set(out);
  }
  w.fill(0);
  w[2] = 1 << 31;
  w[15] = 8 * (text.length + 8);
  for (let tried = 0; tried < 2 ** 32; tried++) {
    w[0] = DIGITS[tried >>> 16];
    w[1] = DIGITS[tried & 0xffff];
    compress(state, w, out);
    if (out[0] >>> (32 - bits) === 0) return postMessage({ nonce: "0".repeat(filled) + tried.toString(16).padStart(8, "0") });
    if (tried % OFTEN === 0) postMessage({ tried });
  }
};

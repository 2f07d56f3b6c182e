/** Where random bits come from; never Math.random. Words are little-endian, as Python reads them. */
export class Random {
  #fill;

  /** @param {(bytes: Uint8Array) => void} fill overwrites bytes with random ones */
  constructor(fill) {
    this.#fill = fill;
  }

  #buffer(size) {
    const bytes = new Uint8Array(size);
    this.#fill(bytes);
    return bytes.buffer;
  }

  /** @param {number} count */
  words(count) {
    return new BigUint64Array(this.#buffer(8 * count));
  }

  /** @param {number} count */
  halfWords(count) {
    return new Uint32Array(this.#buffer(4 * count));
  }

  /** 64 more bits of a number that begins already, the first byte first. */
  more() {
    return new DataView(this.#buffer(8)).getBigUint64(0);
  }

  /** Above 0, up to 1, in steps of 2^-53. @param {number} count */
  uniforms(count) {
    const halves = this.halfWords(2 * count);
    const one = (i) => (halves[2 * i + 1] * 2 ** 21 + (halves[2 * i] >>> 11) + 1) * 2 ** -53;
    return Float64Array.from({ length: count }, (_, i) => one(i));
  }
}

/** The browser's cryptographic source, which gives 64 kB at a time. */
export const systemRandom = () =>
  new Random((bytes) => {
    for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  });

/** These bytes and no others, for tests: nothing made with them is private. */
export function fixedRandom(given) {
  let at = 0;
  return new Random((bytes) => {
    if (at + bytes.length > given.length) throw new Error("the fixed bytes are used up");
    bytes.set(given.subarray(at, (at += bytes.length)));
  });
}

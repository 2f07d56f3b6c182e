/** Where random bits come from, never Math.random. Words are little-endian, taken in Python's order. */
export class Random {
  #fill;

  /** @param {(bytes: Uint8Array) => void} fill */
  constructor(fill) {
    this.#fill = fill;
  }

  #buffer(size) {
    const bytes = new Uint8Array(size);
    this.#fill(bytes);
    return bytes.buffer;
  }

  words(count) {
    return new BigUint64Array(this.#buffer(8 * count));
  }

  halfWords(count) {
    return new Uint32Array(this.#buffer(4 * count));
  }

  /** 64 more bits of a number that begins already, the first byte first. */
  more() {
    return new DataView(this.#buffer(8)).getBigUint64(0);
  }

  /** Above 0, up to 1, in steps of 2^-53. */
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

/** Independent whole numbers, uniform from 0 to before `bound`. */
export function drawBelow(bound, count, random) {
  const size = BigInt(bound);
  // Words below hold every remainder as often.
  const fair = (1n << 64n) - ((1n << 64n) % size);
  const [words, again] = [random.words(count), []];
  words.forEach((word, i) => word >= fair && again.push(i));
  while (again.length) {
    const fresh = random.words(again.length);
    for (const [i, place] of again.splice(0).entries()) {
      words[place] = fresh[i];
      if (fresh[i] >= fair) again.push(place);
    }
  }
  return Int32Array.from(words, (word) => Number(word % size));
}

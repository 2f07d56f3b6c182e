/** Fakes that keep the hash of the true ratings; loaded where a collection asks for them. */
import { drawCodes } from "./obfuscation.js";

const TRIES = 256;
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/**
 * Codes of new fakes so that everything that is sent has a wanted hash: the first of many draws that
 * does, else the nearest one, moved by one level at a time, or as close as they come.
 */
export function keepHash({ vectors }, sent, places, wanted, mean, parts, random) {
  const [m, n] = [places.length, sent.items.length + places.length];
  const draws = drawCodes("around-mean", mean, parts, TRIES * m, random);
  const columns = vectors.map((q) => places.map((item) => q[item]));
  const old = vectors.map((q) => sum(sent.items.map((item, i) => q[item] * sent.codes[i])));
  const plain = vectors.map((q, b) => sum(sent.items.map((item) => q[item])) + sum(columns[b]));
  const made = (codes, products, total) => {
    const margins = products.map((product, b) => n * product - total * plain[b]);
    const off = sum(margins.map((margin, b) => Math.max((wanted >> b) & 1 ? -margin : margin + 1, 0)));
    // `off`: how far on the wrong side of the hash's planes.
    return { codes, products, total, off };
  };
  const nearer = (one, other) => (other.off < one.off ? other : one);
  const tries = Array.from({ length: TRIES }, (_, t) => {
    const codes = draws.subarray(t * m, t * m + m);
    const products = columns.map((column, b) => column.reduce((all, q, j) => all + q * codes[j], old[b]));
    return made(codes, products, sum(codes) + sum(sent.codes));
  });
  let best = tries.reduce(nearer);
  for (let last; best.off && best !== last; ) {
    last = best;
    for (const step of [1, -1])
      for (let j = 0; j < m; j++) {
        if (last.codes[j] === (step > 0 ? parts : 0)) continue;
        const products = last.products.map((product, b) => product + step * columns[b][j]);
        best = nearer(best, { ...made(last.codes, products, last.total + step), j, step });
      }
    if (best !== last) best.codes = last.codes.map((code, j) => (j === best.j ? code + best.step : code));
  }
  return best.codes;
}

/**
 * The scale that ratings live on, and the grid that the protocols round them to.
 * @typedef {{lo: number, hi: number, step: number|null, presence: boolean}} Scale  `step` is null on a
 *   continuous scale; with `presence` records say only that they are there, each with value 1
 */

/** Parts of the grid of a continuous scale; a stepped one has at most as many. */
export const GRID = 255;

/** Refuse what is no scale. @throws {Error} One line that says why. */
export function checkScale({ lo, hi, step = 1, presence = false, ...others }) {
  if (Object.keys(others).length) throw new Error("a scale has lo, hi, step and presence alone");
  if (!Number.isFinite(lo) || !Number.isFinite(hi) || !Number.isFinite(hi - lo) || lo >= hi)
    throw new Error("a scale needs finite lo < hi");
  if (step !== null) {
    const parts = (hi - lo) / step;
    const divides = Number.isFinite(step) && step > 0 && Math.abs(parts - Math.round(parts)) <= 1e-9;
    if (!divides || parts < 0.5 || parts > GRID + 0.5)
      throw new Error(`a scale's step divides it into 1 to ${GRID} equal parts`);
  }
  // Else places on it are not told apart, and a rating may be none by an error of rounding.
  if ((step ?? (hi - lo) / GRID) < 2 ** -30 * Math.max(Math.abs(lo), Math.abs(hi)))
    throw new Error("a scale so narrow needs smaller numbers");
  if (typeof presence !== "boolean" || (presence && (lo !== 0 || hi !== 1 || step !== 1)))
    throw new Error("presence is on the scale 0..1 in steps of 1 and no other");
}

/** A scale as collections and catalogues spell it; numbers of ordinary size, since digests need Python's spelling. */
export function readScale(text) {
  const [, lo, hi, ending] = /^([-.\d]+)\.\.([-.\d]+?)(\/.*)?$/.exec(text) ?? [];
  const step = ending === "/continuous" ? null : Number(ending?.slice(1) ?? 1);
  const scale = { lo: Number(lo), hi: Number(hi), step, presence: false };
  const ordinary = (x) => !x || (Math.abs(x) >= 1e-4 && Math.abs(x) < 1e6);
  const shown = { 1: "", null: "/continuous" }[step] ?? `/${step}${step % 1 ? "" : ".0"}`;
  if (`${scale.lo}..${scale.hi}${shown}` !== text || ![scale.lo, scale.hi, step].every(ordinary))
    throw new Error("collection: 'scale' should be like 1..5, 0.5..5/0.5 or -10..10/continuous");
  checkScale(scale);
  return scale;
}

export const clamp = (number, least, most) => Math.min(Math.max(number, least), most);

/** The largest code of the grid. */
export const gridParts = ({ lo, hi, step }) => (step === null ? GRID : Math.round((hi - lo) / step));

/** Ratings as codes from 0 to `gridParts`. */
export function toGrid(scale, values) {
  const { lo, hi } = scale;
  const parts = gridParts(scale);
  return Uint8Array.from(values, (value) => clamp(Math.floor(((value - lo) * parts) / (hi - lo) + 0.5), 0, parts));
}

/** The ratings that codes stand for. */
export function fromGrid(scale, codes) {
  const { lo, hi } = scale;
  const parts = gridParts(scale);
  return Float64Array.from(codes, (code) => lo + ((hi - lo) * code) / parts);
}

/** The ratings that a person can give, rising: one star each; null on a continuous scale. */
export function levels(scale) {
  if (scale.step === null) return null;
  return scale.presence ? [scale.hi] : [...fromGrid(scale, Array(gridParts(scale)).keys()), scale.hi];
}

/** Whether a number is a rating of this scale. */
export function contains({ lo, hi, step, presence }, value) {
  const slack = 1e-6 * (hi - lo);
  if (!(value >= (presence ? hi : lo) - slack && value <= hi + slack)) return false;
  if (step === null) return true;
  const offset = (value - lo) / step;
  return Math.abs(offset - Math.round(offset)) <= 1e-3;
}

/** The rating of this scale that is nearest to a finite number; of two, the even level. */
export function nearest(scale, value) {
  const { lo, hi, step, presence } = scale;
  const inside = clamp(value, presence ? hi : lo, hi);
  if (step === null) return inside;
  const place = Math.min(roundHalfEven((inside - lo) / step), gridParts(scale));
  return place === gridParts(scale) ? hi : fromGrid(scale, [place])[0];
}

/** Rounding as numpy does it: halves go to the even neighbour. */
export function roundHalfEven(number) {
  const [down, rest] = [Math.floor(number), number - Math.floor(number)];
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}

/**
 * What every predictor can do: score, predict, recommend, explain.
 * @typedef {{items: Int32Array, values: Float64Array}} Own  catalogue indices in rising order, and the
 *   ratings beside them
 * @typedef {{index: number, id: string, title: string, score: number,
 *   because: {title: string, index: number, amount: number}[]}} Recommendation  its score is not cut to the
 *   scale, of presence it is a chance; because: own ratings and by how much they raise the score
 */

const REASONS = 3;

/**
 * A kind of predictor has its own `_level` and `_explain`, whose function uses one list again each time.
 */
export class Predictor {
  constructor(release, name) {
    this.release = release;
    this.name = name;
    this.size = release.catalog.ids.length;
    this._room = new Float32Array(this.size);
  }

  static async make(release, name) {
    return new this(release, name);
  }

  /** What lists are ordered by: expected ratings of all items, not cut; of presence, logarithms. */
  scores(own, out = new Float32Array(this.size)) {
    this._check(own);
    this._fill(own, null, out);
    return out;
  }

  /** Expected ratings of some items or all, cut to the scale; of presence, how likely the person has each. */
  predict(own, items) {
    this._check(own, items);
    const out = new Float64Array(items?.length ?? this.size);
    this._fill(own, items, out);
    const { lo, hi, presence } = this.release.scale;
    return out.map((score) => (presence ? chance(score) : Math.min(Math.max(score, lo), hi)));
  }

  /**
   * The n items with the highest scores among those not rated yet, the best first; among equals the first
   * in the catalogue. @param {Own} own @returns {Recommendation[]}
   */
  recommend(own, n = 10) {
    if (!(n >= 0)) throw new Error("n is how many items to recommend");
    const scores = this.scores(own, this._room);
    const { catalog, scale } = this.release;
    const explain = this._explain(own);
    const told = (index) => ({ index, title: catalog.titles[index] });
    return Array.from(highest(scores, own.items, n), (index) => {
      const moved = explain(index);
      const most = highest(moved, [], REASONS).filter((j) => moved[j] > 0);
      const score = scale.presence ? chance(scores[index]) : scores[index];
      const because = Array.from(most, (j) => ({ ...told(own.items[j]), amount: moved[j] }));
      return { ...told(index), id: catalog.ids[index], score, because };
    });
  }

  /** By how much each own rating moves an item's score: together, from that of somebody who rated nothing. */
  contributions(own, item) {
    this._check(own, [item]);
    return this._explain(own)(item).slice();
  }

  /** The score of an item for somebody unknown. @param {number} item @returns {any} a number */
  _level(item) {}

  /** @param {Own} own @returns {any} a function from an item to what each own rating adds to its score */
  _explain(own) {}

  /** Put the scores of some items, or of all, into `out`. */
  _fill(own, items, out) {
    const explain = this._explain(own);
    for (let i = 0; i < out.length; i++) {
      const item = items ? items[i] : i;
      out[i] = this._level(item) + total(explain(item));
    }
  }

  _check({ items, values }, targets = []) {
    const inside = (item) => Number.isInteger(item) && item >= 0 && item < this.size;
    if (!Array.from(targets).every(inside)) throw new Error(`items are from 0 to ${this.size - 1}`);
    const fine = (item, j) => inside(item) && !(item <= items[j - 1]) && Number.isFinite(values[j]);
    if (items.length !== values.length || !items.every(fine))
      throw new Error("own ratings are items of the catalogue in rising order, a number beside each");
  }
}

/** Of presence: how likely it is that somebody has an item, about; scores are logarithms. */
export const chance = (logarithm) => Math.exp(Math.min(logarithm, 0));

export function total(list) {
  let sum = 0;
  for (let i = 0; i < list.length; i++) sum += list[i];
  return sum;
}

/** The places of the `n` highest scores, the highest first, without those in `left` (rising). */
function highest(scores, left, n) {
  const places = new Int32Array(Math.min(n, scores.length - left.length));
  const most = places.length;
  let count = 0;
  for (let i = 0, skipped = 0; most && i < scores.length; i++) {
    if (left[skipped] === i) skipped++;
    else if (count < most || scores[i] > scores[places[most - 1]]) {
      let spot = count < most ? count++ : most - 1;
      for (; spot > 0 && scores[places[spot - 1]] < scores[i]; spot--) places[spot] = places[spot - 1];
      places[spot] = i;
    }
  }
  return places;
}

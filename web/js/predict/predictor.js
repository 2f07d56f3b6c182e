/** What every predictor can do: score, predict, recommend, explain. */

/**
 * @typedef {{items: Int32Array, values: Float64Array}} Own  One person's ratings: catalogue indices
 *   in rising order, and the ratings beside them.
 * @typedef {{title: string, index: number, amount: number}} Reason  An own rating, and by how much it
 *   raises a score (of presence, the logarithm of a chance).
 * @typedef {{index: number, id: string, title: string, score: number, because: Reason[]}}
 *   Recommendation  Its score is not cut to the scale; of presence it is a chance.
 */

const REASONS = 3;

/**
 * Predictions from a release and own ratings, which stay where they are.
 *
 * A kind of predictor has `_level(item)`, the score for somebody unknown, and `_explain(own)`: a
 * function from an item to what each own rating adds to its score, in one list used again each time.
 */
export class Predictor {
  /** @param {import("../release.js").Release} release @param {string} name */
  constructor(release, name) {
    this.release = release;
    this.name = name;
    this.size = release.catalog.ids.length;
    this._room = new Float32Array(this.size);
  }

  static async make(release, name) {
    return new this(release, name);
  }

  /**
   * What lists are ordered by: expected ratings of all items, not cut; of presence, logarithms.
   * @param {Own} own
   * @param {Float32Array} [out] Where to put them, if a list is there already.
   */
  scores(own, out = new Float32Array(this.size)) {
    this._check(own);
    this._fill(own, null, out);
    return out;
  }

  /**
   * Expected ratings, cut to the scale; of presence, how likely it is that the person has the item.
   * @param {Own} own
   * @param {ArrayLike<number>} [items] Catalogue indices; all items if absent.
   */
  predict(own, items) {
    this._check(own, items);
    const out = new Float64Array(items ? items.length : this.size);
    this._fill(own, items, out);
    const { lo, hi, presence } = this.release.scale;
    return out.map((score) => (presence ? chance(score) : Math.min(Math.max(score, lo), hi)));
  }

  /**
   * The items with the highest scores among those not rated yet, the best first; among equals the
   * first in the catalogue.
   * @param {Own} own
   * @param {number} [n] How many, at most.
   * @returns {Recommendation[]}
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
      return {
        ...told(index),
        id: catalog.ids[index],
        score: scale.presence ? chance(scores[index]) : scores[index],
        because: Array.from(most, (j) => ({ ...told(own.items[j]), amount: moved[j] })),
      };
    });
  }

  /**
   * By how much each own rating moves an item's score, beside `own.items`. Together they are what it
   * differs by from the score of somebody who rated nothing.
   * @param {Own} own
   * @param {number} item
   * @returns {Float64Array}
   */
  contributions(own, item) {
    this._check(own, [item]);
    return this._explain(own)(item).slice();
  }

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
export function chance(logarithm) {
  return Math.exp(Math.min(logarithm, 0));
}

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

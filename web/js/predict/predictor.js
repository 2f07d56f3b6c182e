/**
 * What every predictor can do: score, recommend, explain, and find what is similar.
 * @typedef {{items: Int32Array, values: Float64Array}} Own  catalogue indices in rising order, and the
 *   ratings beside them, as `ownRatings` makes them; nothing checks them again
 * @typedef {{index: number, id: string, title: string, score: number, expected: number | undefined,
 *   because: {title: string, index: number, amount: number}[]}} Recommendation  the score is what lists are
 *   ordered by and has no unit; expected: the expected rating, cut to the scale, where there are ratings;
 *   because: own items and by how much they raise the score of the lists section, or else what is expected
 */

const REASONS = 3;
/** A rating this far below the top of the scale, in parts of its range, is liked as often as not; so is the doubt. As in Python. */
const LIKED = 0.375;
/** Added to every count, in parts of the mean: counts near 0 are mostly noise. As in Python. */
const COUNT_FLOOR = 0.1;

/** A kind of predictor has its own `_level`, `_common` and `_explain`, whose function may use one list again each time. */
export class Predictor {
  /** @param {any} parts what the scripts export that the release needs beside the predictor's own */
  constructor(release, name, parts = {}) {
    this.release = release;
    this.name = name;
    this.size = release.catalog.ids.length;
    this.lists = parts.ListScores && new parts.ListScores(release);
    this.isRating = !release.scale.presence && release.method !== "lists";
    /** By which items are compared, one row each. @type {Float32Array | undefined} */
    this.rows = this.lists?.rows ?? release.arrays.factors?.data;
    this._room = new Float32Array(this.size);
  }

  static async make(release, name, parts) {
    return new this(release, name, parts);
  }

  /** Expected ratings of all items, not cut; of presence, logarithms; else what lists are ordered by. */
  scores(own, out = new Float32Array(this.size)) {
    this._fill(own, null, out);
    return out;
  }

  /**
   * The n items that come first among those not rated yet, the best first; among equals the first in the
   * catalogue. @param {Own} own @param {(item: number) => boolean} [skips] whether to leave an item out
   * @returns {Recommendation[]}
   */
  recommend(own, n = 10, skips = () => false) {
    const { catalog, parameters, scale: { lo, hi, presence } } = this.release;
    const expected = this.scores(own, this._room);
    const ranks = this.ranks(own, expected);
    const rated = new Set(own.items);
    const explain = (this.lists ?? this)._explain(own);
    const told = (index) => ({ index, title: catalog.titles[index] });
    return highest(ranks, n, (item) => rated.has(item) || skips(item)).map((index) => {
      const moved = explain(index);
      // The lists section counts that somebody has an item; what they did not like is no reason, nor is anything for lists that know no taste.
      const fits = (j) => parameters?.list_directions !== 0 && moved[j] > 0 && (!this.lists || presence || own.values[j] >= hi - LIKED * (hi - lo));
      const most = highest(moved, REASONS, (j) => !fits(j));
      const because = most.map((j) => ({ ...told(own.items[j]), amount: moved[j] }));
      const stars = this.isRating ? this._cut(expected[index]) : undefined;
      return { ...told(index), id: catalog.ids[index], score: ranks[index], expected: stars, because };
    });
  }

  /**
   * What lists are ordered by. Of ratings: has it and likes it, which is what the lists section says, or popularity,
   * times how likely the person likes it.
   */
  ranks(own, expected = this.scores(own)) {
    const { scale: { lo, hi }, arrays } = this.release;
    const counts = arrays.item_counts.data;
    const floor = (COUNT_FLOOR * total(counts)) / this.size;
    const has = this.lists?.scores(own);
    if (!this.isRating) return has ?? expected;
    return (has ?? counts.map((count) => count + floor)).map((score, item) => (score > 0 ? score * normal((this._cut(expected[item]) - hi) / (LIKED * (hi - lo)) + 1) : score));
  }

  _cut(score) {
    const { lo, hi } = this.release.scale;
    return Math.min(Math.max(score, lo), hi);
  }

  /** Whether it is known what an item is like. */
  compares(item) {
    return this.rows?.length > 0 && (this.lists?.head.has(item) ?? true);
  }

  /** The items that are most like an item, the nearest first. @returns {number[]} */
  similar(item, n = 10, skips = (_) => false) {
    const found = Float64Array.from(this._room, (_, other) => (this.compares(item) && this.compares(other) ? this._likeness(item, other) : 0));
    return highest(found, n, (other) => other === item || !(found[other] > 0) || skips(other));
  }

  /** The cosine of two items' rows; not a number where one is 0. */
  _likeness(one, other) {
    const rank = this.rows.length / this.size;
    const [a, b] = [one, other].map((item) => this.rows.subarray(item * rank, (item + 1) * rank));
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  }

  /** The score of an item for somebody unknown. @param {number} item @returns {any} a number */
  _level(item) {}

  /** What own ratings together add to the scores of all items alike. @param {Own} own */
  _common(own) {
    return 0;
  }

  /** @param {Own} own @returns {any} a function from an item to what each own rating adds to its score beyond that */
  _explain(own) {}

  /** Put the scores of some items, or of all, into `out`. */
  _fill(own, items, out) {
    const [explain, common] = [this._explain(own), this._common(own)];
    for (let i = 0; i < out.length; i++) {
      const item = items ? items[i] : i;
      out[i] = this._level(item) + common + total(explain(item));
    }
  }
}

/** The normal distribution function, by a series: asked for from -5/3 to 1, where what is left out is below 1e-9. */
function normal(z) {
  let [sum, term] = [z, z];
  for (let n = 3; n < 30; n += 2) sum += term *= (z * z) / n;
  return 0.5 + (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

export function total(list) {
  let sum = 0;
  for (let i = 0; i < list.length; i++) sum += list[i];
  return sum;
}

export function dot(one, other) {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * other[i];
  return sum;
}

/** The places of the `n` highest scores, the highest first, the first among equals. @returns {number[]} */
function highest(scores, n, skips) {
  const places = [];
  for (let i = 0; i < scores.length; i++) {
    const { length } = places;
    if ((length >= n && !(scores[i] > scores[places[n - 1]])) || skips(i)) continue;
    let spot = Math.min(length, n - 1);
    for (; spot > 0 && scores[places[spot - 1]] < scores[i]; spot--) places[spot] = places[spot - 1];
    places[spot] = i;
  }
  return places;
}

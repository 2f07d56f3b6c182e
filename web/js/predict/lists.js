/** Lists from what somebody has, whatever they think of it: the lists section of a release. */
import { dot, Predictor } from "./predictor.js";

const ARRAYS = ["popularity", "start", "gain", "head", "rows", "scales", "tail", "axis"];

/**
 * For who has some items, score_j = start_j + gain_j u_j q, with q the sum of their items' rows u; for anybody else, the
 * item's popularity. It is linear: own item l adds gain_j u_j u_l. Scores order lists and mean nothing else.
 */
export class ListScores {
  constructor({ arrays }) {
    const [popularity, start, gain, head, own, scales, tail, axis] = ARRAYS.map((name) => arrays[`list_${name}`].data);
    this._levels = { popularity, start, gain };
    this.head = new Set(head);
    /** u, one row after the other: those of the head are stored in small integers, all others point one way. */
    this.rows = new Float32Array(tail.length * axis.length);
    const put = (item, entry) => axis.forEach((_, f) => (this.rows[item * axis.length + f] = entry(f)));
    tail.forEach((size, item) => put(item, (f) => size * axis[f]));
    head.forEach((item, i) => put(item, (f) => own[i * axis.length + f] * scales[f]));
    this._row = (item) => this.rows.subarray(item * axis.length, (item + 1) * axis.length);
    this._sum = new Float64Array(axis.length);
  }

  /** Of all items. */
  scores({ items }) {
    const { popularity, start, gain } = this._levels;
    this._sum.fill(0);
    for (const item of items) this._row(item).forEach((one, f) => (this._sum[f] += one));
    return popularity.map((score, item) => (items.length ? start[item] + gain[item] * dot(this._row(item), this._sum) : score));
  }

  _explain({ items }) {
    return (item) => Float64Array.from(items, (other) => this._levels.gain[item] * dot(this._row(other), this._row(item)));
  }
}

/** Of releases that predict no ratings. */
export class ListsPredictor extends Predictor {
  _fill() {}
}

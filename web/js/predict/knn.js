/** Nearest neighbours with jointly derived weights, after Bell and Koren (2007). */
import { ModelPredictor } from "./model.js";
import { blocked, multiply, Nearest, NEIGHBOURS } from "./neighbours.js";
import { dot } from "./predictor.js";

/** If more own items come or go at once, everything is worked out again. */
const MOST_CHANGED = 8;
const STALE = -1;

/**
 * G + M_i + b + sum w_j (x_j - b) over the own items most similar to item i. Similarities and weights
 * come from the head's covariance for items of the head, else from the factors: the weights solve
 * (A + ridge I) w = a, A between neighbours, a between them and the item.
 *
 * Neighbours and weights follow from which items are rated, not from how. So they are kept for every
 * item, and worked out again where an own item has come or gone that is, or would be, among them.
 */
export class KnnPredictor extends ModelPredictor {
  constructor(release, name, parts = {}) {
    super(release, name, parts);
    const { size } = this;
    this._makeByMatrix = parts.makeByMatrix?.(this);
    this._spreads = this.noise.map((noise, item) => noise + dot(this._row(item), this._row(item)));
    /** The own items that the rest is about, and each one's place among them. */
    this._own = new Int32Array();
    this._places = new Int32Array(size);
    /** By item: how many neighbours it has, STALE if that is to be found out, and the least similarity. */
    this._counts = new Int8Array(size).fill(STALE);
    this._edges = new Float32Array(size);
    this._neighbours = new Int32Array(size * NEIGHBOURS);
    this._weights = new Float64Array(size * NEIGHBOURS);
  }

  _fill(own, items, out) {
    this._turnTo(own.items);
    const { _places: places, _neighbours: neighbours, _weights: weights } = this;
    const residuals = this.residuals(own);
    const bias = dot(this.biasShares(own), residuals);
    for (let i = 0; i < out.length; i++) {
      const item = items ? items[i] : i;
      let [moved, rest] = [0, 1];
      for (let at = item * NEIGHBOURS, end = at + this._settle(item); at < end; at++) {
        moved += weights[at] * residuals[places[neighbours[at]]];
        rest -= weights[at];
      }
      out[i] = this._level(item) + moved + rest * bias;
    }
  }

  _explain(own) {
    this._turnTo(own.items);
    const shares = this.biasShares(own);
    const residuals = this.residuals(own);
    const moved = new Float64Array(residuals.length);
    return (item) => {
      moved.fill(0);
      let rest = 0;
      for (let at = item * NEIGHBOURS, end = at + this._settle(item); at < end; at++)
        rest -= moved[this._places[this._neighbours[at]]] = this._weights[at];
      // With b = sum c_j x_j, sum w_j (x_j - b) is the sum of (w_j - c_j sum w) x_j.
      for (let j = 0; j < moved.length; j++) moved[j] = (moved[j] + shares[j] * rest) * residuals[j];
      return moved;
    };
  }

  /** Be about these own items: what they change is stale. */
  _turnTo(items) {
    const [now, before] = [new Set(items), new Set(this._own)];
    const changed = [...now].filter((item) => !before.delete(item)).concat(...before);
    if (!changed.length && this._byFactors) return;
    if (changed.length > MOST_CHANGED) this._counts.fill(STALE);
    else changed.forEach((item) => this._unsettle(item));
    this._own = items.slice();
    items.forEach((item, place) => (this._places[item] = place));
    this._byFactors = this._makeByFactors(items);
    this._byMatrix = this._makeByMatrix?.(items);
  }

  /** An own item came or went: stale is where it is as similar as the least of the neighbours, or more. */
  _unsettle(other) {
    const { _counts: counts, _edges: edges } = this;
    const one = new Float32Array(1);
    for (let item = 0; item < counts.length; item++) {
      if (counts[item] === STALE || item === other) continue;
      one[0] = this._similarity(item, other);
      if (one[0] > 0 && one[0] >= edges[item]) counts[item] = STALE;
    }
  }

  /** How much of an item's variance the rating of another one explains, or how often both are rated. */
  _similarity(item, other) {
    const { head } = this;
    if (head.positions[item] >= 0) {
      const place = head.positions[other];
      return place < 0 ? 0 : this.release.arrays.weights.data[head.entry(head.positions[item], place)];
    }
    return dot(this._row(item), this._row(other)) ** 2 / this._spreads[other];
  }

  /** See that an item's neighbours and their weights are known. @returns {number} How many there are. */
  _settle(item) {
    if (this._counts[item] !== STALE) return this._counts[item];
    const { count, least, places, weights } = (this.head.positions[item] < 0 ? this._byFactors : this._byMatrix)(item);
    for (let n = 0, at = item * NEIGHBOURS; n < count; n++, at++) {
      this._neighbours[at] = this._own[places[n]];
      this._weights[at] = weights[n];
    }
    this._edges[item] = count === NEIGHBOURS ? least : 0;
    return (this._counts[item] = count);
  }

  _row(item) {
    return this.factors.subarray(item * this.rank, (item + 1) * this.rank);
  }

  /** A function from an item outside the head to its neighbours among these items. */
  _makeByFactors(items) {
    const { rank, _spreads: spreads } = this;
    const count = items.length;
    const rows = Array.from(items, (item) => this._row(item));
    const between = (one, other) => (one === other ? spreads[items[one]] : dot(rows[one], rows[other]));
    const near = new Nearest(count, between, 0, false);
    const blocks = blocked(rows);
    const products = new Float64Array(count);
    const goal = new Float64Array(rank);
    return (item) => {
      goal.set(this._row(item));
      multiply(blocks, goal, products);
      for (let j = 0; j < count; j++)
        near.alike[j] = items[j] === item ? 0 : (products[j] * products[j]) / spreads[items[j]];
      return near.find((place) => products[place]);
    };
  }
}

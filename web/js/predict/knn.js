/** Nearest neighbours with jointly derived weights, after Bell and Koren (2007). */
import { dot, factorize, ModelPredictor, solve, systemRoom } from "./model.js";

const NEIGHBOURS = 20;
const SHRINK = 5;
/** A neighbour is left out if those before it explain all but this share of its variance. */
const PIVOT = 0.05;
/** Up to so many own items what is between them is worked out once and kept. */
const MOST_KEPT = 1000;
/** Up to so many more own items than neighbours, weights come from the inverse over all of them. */
const MOST_LEFT = 14;
/** If more own items come or go at once, everything is worked out again. */
const MOST_CHANGED = 8;
const STALE = -1;
const NONE = { count: 0 };

/**
 * G + M_i + b + sum w_j (x_j - b) over the own items most similar to item i. Similarities and weights
 * come from the head's covariance for items of the head, else from the factors: the weights solve
 * (A + ridge I) w = a, A between neighbours, a between them and the item.
 *
 * Neighbours and weights follow from which items are rated, not from how. So they are kept for every
 * item, and worked out again where an own item has come or gone that is, or would be, among them.
 */
export class KnnPredictor extends ModelPredictor {
  constructor(release, name) {
    super(release, name);
    const { size, rank } = this;
    if (this.head.items.length) this._averages = averages(release, this.head);
    this._spreads = this.noise.map((noise, item) => noise + (rank ? dot(this._row(item), this._row(item)) : 0));
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
      let rest = 1;
      for (let at = item * NEIGHBOURS, end = at + this._settle(item); at < end; at++)
        rest -= moved[this._places[this._neighbours[at]]] = this._weights[at];
      // With b = sum c_j x_j, b + sum w_j (x_j - b) is the sum of (c_j (1 - sum w) + w_j) x_j.
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
    this._byFactors = this.rank ? this._makeByFactors(items) : () => NONE;
    this._byMatrix = this.head.items.length ? this._makeByMatrix(items) : null;
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
    const { head, factors, rank } = this;
    if (head.positions[item] >= 0) {
      const place = head.positions[other];
      return place < 0 ? 0 : this.release.arrays.weights.data[head.entry(head.positions[item], place)];
    }
    let product = 0;
    for (let f = 0, at = item * rank, to = other * rank; f < rank; f++) product += factors[at + f] * factors[to + f];
    return (product * product) / this._spreads[other];
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
    const { rank, noise, _spreads: spreads } = this;
    const count = items.length;
    const rows = Array.from(items, (item) => this._row(item));
    const between = (one, other) => (one === other ? spreads[items[one]] : dot(rows[one], rows[other]));
    // Of a variance others explain all but the noise: if that is enough, no pivot is given up.
    const firm = items.every((item) => noise[item] > 2 * PIVOT * spreads[item]);
    const few = firm && count > NEIGHBOURS && count <= NEIGHBOURS + MOST_LEFT;
    const near = few ? new FewLeft(rows, between) : new Nearest(count, between, 0, false);
    const blocks = blocked(few ? [...rows, ...near.through] : rows);
    const products = new Float64Array(few ? 2 * count : count);
    const goal = new Float64Array(rank);
    return (item) => {
      goal.set(this._row(item));
      multiply(blocks, goal, products);
      for (let j = 0; j < count; j++)
        near.similarities[j] = items[j] === item ? 0 : (products[j] * products[j]) / spreads[items[j]];
      return few ? near.find(products) : near.find((place) => products[place]);
    };
  }

  /** The same for items of the head, whose neighbours are in it too. */
  _makeByMatrix(items) {
    const { head, _averages: found } = this;
    const { arrays, scale } = this.release;
    const inside = Int32Array.from(items.keys()).filter((j) => head.positions[items[j]] >= 0);
    const own = inside.map((j) => head.positions[items[j]]);
    const between = (one, other) => found[head.entry(own[one], own[other])];
    const near = new Nearest(own.length, between, 0.5 * ((scale.hi - scale.lo) / 4) ** 2, true);
    return (item) => {
      const target = head.positions[item];
      for (let j = 0; j < own.length; j++)
        near.similarities[j] = own[j] === target ? 0 : Math.max(arrays.weights.data[head.entry(target, own[j])], 0);
      const { places, ...told } = near.find((place) => found[head.entry(target, own[place])]);
      return { ...told, places: places.map((place) => inside[place]) };
    };
  }
}

/** Finds the neighbours of one item after the other among the same own items. */
class Nearest {
  /**
   * @param {number} size how many own items there are
   * @param {(one: number, other: number) => number} between A, by places among them
   * @param {number} ridge @param {boolean} sorted as `choose` takes it
   */
  constructor(size, between, ridge, sorted) {
    Object.assign(this, { between, ridge, sorted });
    /** Of the item in question to each own item, 0 or above; to be filled before `find`. */
    this.similarities = new Float32Array(size);
    this._A = systemRoom(NEIGHBOURS);
    this._least = new Float64Array(NEIGHBOURS);
    if (size <= MOST_KEPT) {
      this._kept = new Float64Array(size ** 2);
      for (let p = 0; p < size; p++)
        for (let q = 0; q <= p; q++) this._kept[p * size + q] = this._kept[q * size + p] = between(p, q);
    }
    this._before = { count: 0, places: new Int32Array(NEIGHBOURS) };
    this._places = new Int32Array(NEIGHBOURS);
    this._weights = new Float64Array(NEIGHBOURS);
  }

  /** @param {(place: number) => number} beside a, by place; what is told is used again for the next item */
  find(beside) {
    const { similarities, _A: A, _places: places, _weights: weights } = this;
    const count = choose(similarities, Math.min(NEIGHBOURS, similarities.length), places, this.sorted);
    let least = Infinity;
    for (let p = 0; p < count; p++) {
      weights[p] = beside(places[p]);
      least = Math.min(least, similarities[places[p]]);
    }
    this._factorize(count);
    solve(A, count, NEIGHBOURS, weights);
    return { count, least, places, weights };
  }

  /** Where there are few own items, those of one item are often those of the next. */
  _factorize(count) {
    const { _A: A, _least: least, _places: places, _before: before, _kept: kept, between, ridge } = this;
    const size = this.similarities.length;
    let same = count === before.count;
    for (let p = 0; same && p < count; p++) same = places[p] === before.places[p];
    if (same) return;
    before.count = count;
    before.places.set(places);
    for (let p = 0; p < count; p++) {
      for (let q = 0; q <= p; q++)
        A[p * NEIGHBOURS + q] = kept ? kept[places[p] * size + places[q]] : between(places[p], places[q]);
      A[p * NEIGHBOURS + p] += ridge;
      least[p] = PIVOT * Math.max(A[p * NEIGHBOURS + p], 0);
    }
    factorize(A, count, NEIGHBOURS, least);
  }
}

/**
 * The same where few own items, D, are no neighbours and no pivot is given up. With P the inverse of A over
 * all own items and v = P a, the weights of the others, S, are v_S - P_SD (P_DD)^-1 v_D. As a = F g, with the
 * own items' factors F and those of the item in question g, v is the product of g with the rows of P F.
 */
class FewLeft {
  constructor(rows, between) {
    const size = rows.length;
    const A = systemRoom(size);
    for (let p = 0; p < size; p++) for (let q = 0; q <= p; q++) A[p * size + q] = between(p, q);
    this._zeros = new Float64Array(size);
    factorize(A, size, size, this._zeros);
    this._P = new Float64Array(size * size);
    /** P F. */
    this.through = rows.map((_, p) => {
      const row = this._P.subarray(p * size, (p + 1) * size);
      row[p] = 1;
      solve(A, size, size, row);
      return Float64Array.from(rows[0], (_, f) => rows.reduce((sum, other, q) => sum + row[q] * other[f], 0));
    });
    this.similarities = new Float32Array(size);
    this._left = new Int32Array(size);
    this._D = systemRoom(size);
    this._x = new Float64Array(size);
    this._places = new Int32Array(NEIGHBOURS);
    this._weights = new Float64Array(NEIGHBOURS);
  }

  /** @param {Float64Array} products a, then v */
  find(products) {
    const { similarities, _P: P, _D: D, _x: x, _left: left, _places: places, _weights: weights } = this;
    const size = similarities.length;
    this._leave(size - NEIGHBOURS);
    let count = 0;
    let out = 0;
    let least = Infinity;
    for (let j = 0; j < size; j++)
      if (similarities[j] > 0) {
        places[count++] = j;
        least = Math.min(least, similarities[j]);
      } else left[out++] = j;
    for (let p = 0; p < out; p++) {
      x[p] = products[size + left[p]];
      for (let q = 0, row = left[p] * size; q <= p; q++) D[p * size + q] = P[row + left[q]];
    }
    factorize(D, out, size, this._zeros);
    solve(D, out, size, x);
    for (let p = 0; p < count; p++) {
      let weight = products[size + places[p]];
      for (let q = 0, row = places[p] * size; q < out; q++) weight -= P[row + left[q]] * x[q];
      weights[p] = weight;
    }
    return { count, least, places, weights };
  }

  /** Set the `most` smallest similarities to 0, the later among equals. */
  _leave(most) {
    const { similarities, _left: left } = this;
    for (let place = 0, count = 0; place < similarities.length; place++) {
      const one = similarities[place];
      if (count === most && one > similarities[left[most - 1]]) continue;
      let spot = count < most ? count++ : most - 1;
      for (; spot > 0 && similarities[left[spot - 1]] >= one; spot--) left[spot] = left[spot - 1];
      left[spot] = place;
    }
    for (let at = 0; at < most; at++) similarities[left[at]] = 0;
  }
}

/** Rows in fours side by side, entry by entry. */
function blocked(rows) {
  const width = rows[0]?.length;
  const blocks = new Float64Array((rows.length + 3) * width);
  rows.forEach((row, j) => row.forEach((one, f) => (blocks[(j - (j % 4)) * width + 4 * f + (j % 4)] = one)));
  return blocks;
}

/** The product of a goal with every row of the blocks. */
function multiply(blocks, goal, products) {
  for (let j = 0, at = 0; j < products.length; j += 4) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let f = 0; f < goal.length; f++, at += 4) {
      a += goal[f] * blocks[at];
      b += goal[f] * blocks[at + 1];
      c += goal[f] * blocks[at + 2];
      d += goal[f] * blocks[at + 3];
    }
    products[j] = a;
    products[j + 1] = b;
    products[j + 2] = c;
    products[j + 3] = d;
  }
}

/**
 * Fill `chosen` with the places of the `most` largest similarities above 0, the earlier among equals.
 * The order, which decides whose pivot is given up, is Python's: the largest first if `sorted` or if
 * equals had to be parted, else that of the places.
 * @param {Float32Array} similarities 0 or above
 * @returns {number} How many there are.
 */
function choose(similarities, most, chosen, sorted) {
  let count = 0;
  let edge = 0;
  let parted = false;
  for (let place = 0; place < similarities.length; place++) {
    const one = similarities[place];
    if (one <= edge) {
      parted ||= one > 0 && one === edge;
      continue;
    }
    const fallen = edge;
    let spot = count < most ? count++ : most - 1;
    for (; spot > 0 && similarities[chosen[spot - 1]] < one; spot--) chosen[spot] = chosen[spot - 1];
    chosen[spot] = place;
    if (count < most) continue;
    edge = similarities[chosen[most - 1]];
    parted = fallen === edge;
  }
  if (sorted || parted) return count;
  for (let place = 0, at = 0; at < count; place++)
    if (similarities[place] >= edge && similarities[place] > 0) chosen[at++] = place;
  return count;
}

/**
 * The average covariance, drawn to its mean as far as noise and thin data advise: off the diagonal
 * and on it, m + (Cov - m Wgt) Wgt / (Wgt^2 + beta Wgt + floor).
 */
function averages({ arrays, parameters }, head) {
  const [covariance, weights] = [arrays.covariance.data, arrays.weights.data];
  const pairs = Math.max((head.items.length * (head.items.length - 1)) / 2, 1);
  const means = [covariance, weights].map((packed) => {
    let rest = 0;
    head.eachPair((at) => (rest += packed[at]));
    const diagonal = head.bases.reduce((sum, base, i) => sum + packed[base + i], 0);
    return [rest / pairs, diagonal / head.items.length];
  });
  const centre = [0, 1].map((on) => means[0][on] / Math.max(means[1][on], 1e-9));
  let scatter = 0;
  let squares = 0;
  head.eachPair((at) => {
    const off = covariance[at] - centre[0] * weights[at];
    scatter += off * off;
    squares += Math.fround(weights[at] * weights[at]);
  });
  const noise = parameters.covariance_noise ** 2 + (centre[0] * parameters.weights_noise) ** 2;
  const variance = Math.max(scatter - pairs * noise, 0) / Math.max(squares, 1e-30);
  const floor = variance > 0 ? noise / variance : noise > 0 ? Infinity : 0;
  const found = new Float32Array(weights.length);
  const scale = Math.fround(parameters.covariance_scale ?? 1);
  const fill = (at, on) => {
    // Noise can take it below 0.
    const weight = Math.max(weights[at], 0);
    const whole = weight * (weight + Math.max(SHRINK * means[1][on], 0)) + floor * (1 + on) + 1e-30;
    found[at] = centre[on] + ((covariance[at] - centre[on] * weight) * weight) / whole;
    found[at] *= scale;
  };
  head.eachPair((at) => fill(at, 0));
  head.bases.forEach((base, i) => {
    fill(base + i, 1);
    // Where the diagonal was not published, the variance of a rating takes its place.
    if (means[1][1] <= 0) found[base + i] = parameters.rating_variance;
  });
  return found;
}

/** Nearest neighbours with jointly derived weights, after Bell and Koren (2007). */
import { dot, factorize, ModelPredictor, solve } from "./model.js";

const NEIGHBOURS = 20;
const SHRINK = 5;
/** A neighbour is left out if those before it explain all but this share of its variance. */
const PIVOT = 0.05;
/** Where the search for the edge begins: 1/64 of the largest similarity, in a float's bits. */
const OCTAVES = 6 << 23;
/** Up to so many own ratings their products are computed once and kept. */
const KEPT = 1000;

/**
 * G + M_i + b + sum w_j (x_j - b) over the own items most similar to item i. Similarities and weights
 * come from the head's covariance for items of the head, else from the factors: the weights solve
 * (A + ridge I) w = a, A between neighbours, a between them and the item.
 */
export class KnnPredictor extends ModelPredictor {
  constructor(release, name) {
    super(release, name);
    if (this.head.items.length) this._averages = averages(release, this.head);
  }

  _explain(own) {
    const room = {
      A: new Float64Array(NEIGHBOURS ** 2),
      a: new Float64Array(NEIGHBOURS),
      least: new Float64Array(NEIGHBOURS),
      chosen: new Int32Array(NEIGHBOURS),
      most: Math.min(NEIGHBOURS, own.items.length),
    };
    const byFactors = this.rank ? this._byFactors(own, room) : () => 0;
    const byMatrix = this._byMatrix(own, room);
    const shares = this.biasShares(own);
    const residuals = this.residuals(own);
    const moved = new Float64Array(residuals.length);
    return (item) => {
      const { a, chosen } = room;
      const count = this.head.positions[item] < 0 ? byFactors(item) : byMatrix(item);
      moved.fill(0);
      let rest = 1;
      for (let n = 0; n < count; n++) rest -= moved[chosen[n]] = a[n];
      // With b = sum c_j x_j, b + sum w_j (x_j - b) is the sum of (c_j (1 - sum w) + w_j) x_j.
      for (let j = 0; j < moved.length; j++) moved[j] = (moved[j] + shares[j] * rest) * residuals[j];
      return moved;
    };
  }

  /** A function that puts an item's neighbours and their weights into the room; it says how many. */
  _byFactors({ items }, room) {
    const { factors, noise, rank } = this;
    const count = items.length;
    const rowOf = (item) => factors.subarray(item * rank, (item + 1) * rank);
    const rows = Array.from(items, rowOf);
    const spreads = Float64Array.from(items, (item, j) => noise[item] + dot(rows[j], rows[j]));
    // Four own items side by side, factor by factor.
    const blocks = new Float64Array((count + 3) * rank);
    rows.forEach((row, j) => row.forEach((one, f) => (blocks[(j - (j % 4)) * rank + 4 * f + (j % 4)] = one)));
    const gram = new Float64Array(count > KEPT ? 0 : count ** 2);
    for (let at = 0; at < gram.length; at++) gram[at] = dot(rows[Math.floor(at / count)], rows[at % count]);
    const products = new Float64Array(count);
    const similarities = new Float32Array(count);
    const bits = new Int32Array(similarities.buffer);
    const goal = new Float64Array(rank);
    return (item) => {
      const { A, a, chosen, most } = room;
      goal.set(rowOf(item));
      multiply(blocks, goal, products);
      // How much of the item's variance an own rating explains.
      for (let j = 0; j < count; j++)
        similarities[j] = items[j] === item ? 0 : (products[j] * products[j]) / spreads[j];
      const found = choose(bits, most, chosen, false);
      for (let p = 0; p < found; p++) {
        const place = chosen[p];
        a[p] = products[place];
        A[p * NEIGHBOURS + p] = spreads[place];
        for (let q = 0; q < p; q++) {
          const other = chosen[q];
          A[q * NEIGHBOURS + p] = count > KEPT ? dot(rows[place], rows[other]) : gram[place * count + other];
        }
      }
      weigh(room, found, 0);
      return found;
    };
  }

  /** The same for items of the head, among own items of the head. */
  _byMatrix({ items }, room) {
    const { head, _averages: averages } = this;
    const { arrays, scale } = this.release;
    const weights = arrays.weights?.data;
    const ridge = 0.5 * ((scale.hi - scale.lo) / 4) ** 2;
    const inside = Int32Array.from(items.keys()).filter((j) => head.positions[items[j]] >= 0);
    const own = inside.map((j) => head.positions[items[j]]);
    const similarities = new Float32Array(own.length);
    const bits = new Int32Array(similarities.buffer);
    return (item) => {
      const { A, a, chosen, most } = room;
      const target = head.positions[item];
      for (let j = 0; j < own.length; j++)
        similarities[j] = own[j] === target ? 0 : Math.max(weights[head.entry(target, own[j])], 0);
      const found = choose(bits, most, chosen, true);
      for (let p = 0; p < found; p++) {
        const i = own[chosen[p]];
        a[p] = averages[head.entry(target, i)];
        for (let q = 0; q <= p; q++) A[q * NEIGHBOURS + p] = averages[head.entry(i, own[chosen[q]])];
      }
      weigh(room, found, ridge);
      for (let p = 0; p < found; p++) chosen[p] = inside[chosen[p]];
      return found;
    };
  }
}

/** Replace a by the weights; A is used up. */
function weigh({ A, a, least }, count, ridge) {
  for (let p = 0; p < count; p++) {
    A[p * NEIGHBOURS + p] += ridge;
    least[p] = PIVOT * Math.max(A[p * NEIGHBOURS + p], 0);
  }
  factorize(A, count, NEIGHBOURS, least);
  solve(A, count, NEIGHBOURS, a);
}

/** The product of a goal with every row of the blocks. */
function multiply(blocks, goal, products) {
  for (let j = 0, at = 0; j < products.length; j += 4) {
    let [a, b, c, d] = [0, 0, 0, 0];
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
 * @param {Int32Array} bits Of similarities, 0 or above: a float's bits rise with its value.
 * @returns {number} How many there are.
 */
function choose(bits, most, chosen, sorted) {
  const edge = edgeOf(bits, most);
  let count = 0;
  for (let place = 0; place < bits.length && !sorted; place++)
    if (bits[place] > edge) {
      if (count === most) sorted = true;
      else chosen[count++] = place;
    }
  if (!sorted) return count;
  count = 0;
  for (let place = 0; place < bits.length; place++) {
    if (bits[place] <= edge || (count === most && bits[place] <= bits[chosen[most - 1]])) continue;
    let spot = count < most ? count++ : most - 1;
    for (; spot > 0 && bits[chosen[spot - 1]] < bits[place]; spot--) chosen[spot] = chosen[spot - 1];
    chosen[spot] = place;
  }
  return count;
}

/** The largest edge, 0 or above, that at least `wanted` of the bits lie above; 0 if fewer do. */
function edgeOf(bits, wanted) {
  let high = 0;
  for (let place = 0; place < bits.length; place++) high = Math.max(high, bits[place]);
  let low = 0;
  let middle = Math.max(0, high - OCTAVES);
  while (high > low) {
    let above = 0;
    for (let place = 0; place < bits.length; place++) above += (middle - bits[place]) >>> 31;
    if (above === wanted) return middle;
    if (above > wanted) {
      if (low === middle) return low;
      low = middle;
    } else high = middle;
    middle = low + ((high - low) >> 1);
  }
  return low;
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

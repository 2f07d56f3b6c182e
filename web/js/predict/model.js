/** The model of a rating that a release stands for, matrices over its head, and small systems. */
import { Predictor, total } from "./predictor.js";

/**
 * r_j = G + M_j + b + F_j z + e_j, with the person's bias b ~ N(0, user_variance), tastes z ~ N(0, I)
 * and e_j of the variance `noise`. Of presence there is no bias, and an own record says F_j z = 1 + e_j.
 */
export class ModelPredictor extends Predictor {
  constructor(release, name, parts) {
    super(release, name, parts);
    const { arrays, parameters } = release;
    const more = arrays.factor_variances?.data;
    this.baseline = Float64Array.from(arrays.item_effects.data, (effect) => parameters.global_mean + effect);
    this.noise = Float64Array.from(arrays.item_effect_variances.data,
      (own, j) => parameters.rating_variance + own + (more?.[j] ?? 0));
    this.factors = arrays.factors?.data;
    this.rank = arrays.factors?.shape[1] ?? 0;
    this.head = new Head(arrays.head?.data ?? [], this.size);
  }

  _level(item) {
    return this.baseline[item];
  }

  /** x_j = r_j - G - M_j beside every own rating; 1 beside every presence. */
  residuals({ items, values }) {
    return this.release.scale.presence ? values : values.map((value, j) => value - this.baseline[items[j]]);
  }

  /** How much each own residual weighs in the posterior mean of b alone. */
  biasShares({ items }) {
    const precisions = Float64Array.from(items, (item) => 1 / this.noise[item]);
    const whole = total(precisions) + 1 / Math.max(this.release.parameters.user_variance, 1e-12);
    return precisions.map((precision) => precision / whole);
  }
}

/** Where the entries of symmetric matrices over some items are in their packed upper triangles. */
class Head {
  constructor(items, size) {
    this.items = items;
    /** Each item's place in the head, -1 outside it. */
    this.positions = new Int32Array(size).fill(-1);
    items.forEach((item, place) => (this.positions[item] = place));
    /** With i <= j, entry (i, j) is at bases[i] + j. */
    this.bases = Float64Array.from(items, (_, i) => (i * (2 * items.length - i - 1)) / 2);
  }

  entry(i, j) {
    return i < j ? this.bases[i] + j : this.bases[j] + i;
  }

  /** Call `visit(at, i, j)` for every entry above the diagonal. */
  eachPair(visit) {
    for (let i = 0; i < this.items.length; i++)
      for (let j = i + 1, base = this.bases[i]; j < this.items.length; j++) visit(base + j, i, j);
  }
}

/**
 * Turn the lower triangle of A, rows `stride` apart and three more behind them, into L with L L^T = A. A
 * pivot that is not above `least` is given up: its unknown becomes 0 and the others go on as if it were
 * not there. The diagonal of the result holds reciprocals, 0 where a pivot was given up.
 */
export function factorize(A, size, stride, least) {
  for (let c = 0, top = 0; c < size; c++, top += stride) {
    let left = A[top + c];
    for (let k = 0; k < c; k++) left -= A[top + k] * A[top + k];
    const pivot = (A[top + c] = left > least[c] ? 1 / Math.sqrt(left) : 0);
    // Four rows at once: a sum need not wait for the one before it.
    for (let r = c + 1, p = top + stride; r < size; r += 4, p += 4 * stride) {
      const q = p + stride;
      const s = q + stride;
      const t = s + stride;
      let a = A[p + c];
      let b = A[q + c];
      let d = A[s + c];
      let e = A[t + c];
      for (let k = 0; k < c; k++) {
        const other = A[top + k];
        a -= A[p + k] * other;
        b -= A[q + k] * other;
        d -= A[s + k] * other;
        e -= A[t + k] * other;
      }
      A[p + c] = a * pivot;
      A[q + c] = b * pivot;
      A[s + c] = d * pivot;
      A[t + c] = e * pivot;
    }
  }
}

/** Room for a system of so many unknowns, as `factorize` takes it. */
export const systemRoom = (size) => new Float64Array(size * (size + 3));

/** Replace b by the solution of the system that `factorize` left in A. */
export function solve(A, size, stride, b) {
  for (let p = 0, row = 0; p < size; p++, row += stride) {
    let left = b[p];
    for (let c = 0; c < p; c++) left -= A[row + c] * b[c];
    b[p] = left * A[row + p];
  }
  for (let p = size - 1, row = p * stride; p >= 0; p--, row -= stride) {
    b[p] *= A[row + p];
    for (let c = 0; c < p; c++) b[c] -= A[row + c] * b[p];
  }
}

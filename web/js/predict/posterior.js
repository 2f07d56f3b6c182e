/** Predictors `posterior` and `svd`, one formula. */
import { factorize, ModelPredictor, solve, systemRoom } from "./model.js";
import { dot } from "./predictor.js";

/**
 * The posterior mean under the release's model. With f_j = [sqrt(user_variance), F_j] and s_j the noise of item j, tastes t solve
 * (I + sum f_j f_j^T / s_j) t = sum f_j x_j / s_j, and item i's score is G + M_i + f_i t.
 */
export class PosteriorPredictor extends ModelPredictor {
  _fill(own, items, out) {
    const { baseline, factors, rank } = this;
    const { A, b } = this._system(own);
    solve(A, b.length, b.length, b);
    const [level, ...tastes] = b;
    const bias = level * this._row(0)[0];
    for (let i = 0; i < out.length; i++) {
      const item = items ? items[i] : i;
      let score = bias;
      for (let f = 0, at = item * rank; f < rank; f++, at++) score += tastes[f] * factors[at];
      out[i] = baseline[item] + score;
    }
  }

  _explain(own) {
    const { A, b } = this._system(own);
    const rows = Array.from(own.items, (item) => this._row(item));
    const weighted = this.residuals(own).map((x, j) => x / this.noise[own.items[j]]);
    return (item) => {
      const target = this._row(item);
      target[0] = 0;
      solve(A, b.length, b.length, target);
      return weighted.map((x, j) => dot(target, rows[j]) * x);
    };
  }

  /** f of an item; the bias is one more factor, in the factors' own precision. */
  _row(item) {
    const own = this.factors.subarray(item * this.rank, (item + 1) * this.rank);
    return Float64Array.of(Math.fround(Math.sqrt(this.release.parameters.user_variance)), ...own);
  }

  /** The factorized system of a person, and its right-hand side. */
  _system(own) {
    const size = this.rank + 1;
    const [A, b] = [systemRoom(size), new Float64Array(size)];
    for (let p = 0; p < size; p++) A[p * size + p] = 1;
    this.residuals(own).forEach((x, j) => {
      const row = this._row(own.items[j]);
      for (let p = 0; p < size; p++) {
        const scaled = row[p] / this.noise[own.items[j]];
        b[p] += scaled * x;
        for (let c = 0; c <= p; c++) A[p * size + c] += scaled * row[c];
      }
    });
    factorize(A, size, size, new Float64Array(size));
    return { A, b };
  }
}

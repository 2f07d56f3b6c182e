/** Predictors from item pairs: the item's level, the person's bias, and what pairs say beyond. */
import { ModelPredictor } from "./model.js";
import { dot, total } from "./predictor.js";

/** A pair's sum varies by who happened to rate, by at least so many variances of a rating. */
const SAMPLING = 0.1;
const DAMPING = 2;
const FARTHEST = 1e-9;

/** Of presence: how likely it is that somebody has an item, about; scores are logarithms. */
const chance = (logarithm) => Math.exp(Math.min(logarithm, 0));

class PairPredictor extends ModelPredictor {
  /** The person's bias; of presence there is none. */
  _common(own) {
    return this.release.scale.presence ? 0 : dot(this.biasShares(own), this.residuals(own));
  }

  /** The entries of an item beside each own item, into `out`; 0 outside the head and for itself. */
  _row(packed, item, items, out) {
    const { head } = this;
    const target = head.positions[item];
    for (let j = 0; j < out.length; j++) {
      const place = head.positions[items[j]];
      out[j] = target < 0 || place < 0 || place === target ? 0 : packed[head.entry(target, place)];
    }
  }
}

/**
 * Slope One: G + M_i + b + the mean over own items j of s_ij - (M_i - M_j), weighted by co-raters; a
 * pair of which little is known is held back to what the two items' levels say.
 */
export class SlopeOnePredictor extends PairPredictor {
  /** v N e / (v N^2 + c N + noise), with e = D - N (M_i - M_j), which varies by c N + v N^2. */
  constructor(release, name, parts) {
    super(release, name, parts);
    const { parameters, arrays } = release;
    const [sums, counts] = [arrays.differences?.data, arrays.pair_weights?.data];
    const pairs = (visit) =>
      this.head.eachPair((at, i, j) => {
        const off = this.baseline[this.head.items[i]] - this.baseline[this.head.items[j]];
        const noise = parameters.difference_noise ** 2 + (parameters.pair_noise * off) ** 2;
        visit(at, Math.max(counts[at], 0), sums[at] - counts[at] * off, noise);
      });
    let [y, yn, n, n2, n3] = [0, 0, 0, 0, 0];
    pairs((at, count, e, noise) => {
      const beyond = e * e - noise;
      y += beyond;
      yn += beyond * count;
      n += count;
      n2 += count * count;
      n3 += count * count * count;
    });
    const least = SAMPLING * parameters.rating_variance;
    const determinant = n * n3 - n2 * n2;
    const c = Math.max(determinant > 1e-9 * n * n3 ? (y * n3 - yn * n2) / determinant : least, least);
    const v = Math.max((yn - c * n2) / Math.max(n3, 1e-30), 0);
    this._moves = new Float32Array(sums?.length);
    this._weights = new Float32Array(sums?.length);
    pairs((at, count, e, noise) => {
      this._weights[at] = count;
      this._moves[at] = (v * count * e) / (v * count * count + c * count + noise + 1e-30);
    });
  }

  _explain(own) {
    const { positions } = this.head;
    const [weights, moves, moved] = [0, 1, 2].map(() => new Float64Array(own.items.length));
    return (item) => {
      this._row(this._weights, item, own.items, weights);
      this._row(this._moves, item, own.items, moves);
      const whole = total(weights) + 1e-30;
      for (let j = 0; j < moved.length; j++) {
        const sign = positions[item] > positions[own.items[j]] ? -1 : 1;
        moved[j] = (sign * weights[j] * moves[j]) / whole;
      }
      return moved;
    };
  }
}

/**
 * Cosine. Of ratings: G + M_i + b + sum s_ij (x_j - b) / (sum |s_ij| + 2). Of presence: the mean over
 * own items of s_ij, with popularity as one more, as a logarithm.
 * s_ij = P_ij / sqrt(max(Q_i, phi) max(Q_j, phi)), phi two standard errors of the squares' noise, and
 * 0 where P cannot be told from noise.
 */
export class CosinePredictor extends PairPredictor {
  constructor(release, name, parts) {
    super(release, name, parts);
    const { arrays, parameters } = release;
    const squares = arrays.squares?.data ?? [];
    const floor = Math.max(2 * parameters.square_noise, (1e-3 * total(squares)) / squares.length, 1e-9);
    const roots = Float64Array.from(squares, (square) => Math.sqrt(Math.max(square, floor)));
    this._likes = new Float32Array(arrays.products?.data.length);
    this.head.eachPair((at, i, j) => {
      const found = arrays.products.data[at] / (roots[i] * roots[j]);
      const doubt = (2 * parameters.product_noise) / (roots[i] * roots[j]);
      if (Math.abs(found) > doubt) this._likes[at] = found * (1 - (doubt / found) ** 2);
    });
  }

  _level(item) {
    return this.release.scale.presence ? this._logarithm(item, 0, 0) : super._level(item);
  }

  compares(item) {
    return this.head.positions[item] >= 0;
  }

  _likeness(one, other) {
    const [a, b] = [one, other].map((item) => this.head.positions[item]);
    return a === b ? 0 : this._likes[this.head.entry(a, b)];
  }

  _logarithm(item, likes, own) {
    return Math.log(Math.max((Math.max(likes, 0) + chance(this.baseline[item])) / (own + 1), FARTHEST));
  }

  _explain(own) {
    const { presence } = this.release.scale;
    const residuals = this.residuals(own);
    const shares = this.biasShares(own);
    const like = new Float64Array(shares.length);
    return (item) => {
      this._row(this._likes, item, own.items, like);
      if (presence) {
        const moved = this._logarithm(item, total(like), like.length) - this._level(item);
        const parts = like.map((one) => Math.max(one, 0));
        const whole = total(parts);
        // Where nothing is similar, the score falls: what is known is spread over more items.
        return parts.map((part) => moved * (whole ? part / whole : 1 / parts.length));
      }
      let size = DAMPING;
      for (let j = 0; j < like.length; j++) size += Math.abs(like[j]);
      const rest = -total(like) / size;
      for (let j = 0; j < like.length; j++) like[j] = (like[j] / size + shares[j] * rest) * residuals[j];
      return like;
    };
  }
}

/** Nearest neighbours within a release's head, by its covariance. */
import { Nearest } from "./neighbours.js";

const SHRINK = 5;

/** What `_makeByFactors` of a kNN predictor is, for items of the head, whose neighbours are in it too. */
export function makeByMatrix({ head, release }) {
  const { arrays, scale } = release;
  const found = averages(release, head);
  return (items) => {
    const inside = Int32Array.from(items.keys()).filter((j) => head.positions[items[j]] >= 0);
    const own = inside.map((j) => head.positions[items[j]]);
    const between = (one, other) => found[head.entry(own[one], own[other])];
    const near = new Nearest(own.length, between, 0.5 * ((scale.hi - scale.lo) / 4) ** 2, true);
    return (item) => {
      const target = head.positions[item];
      for (let j = 0; j < own.length; j++)
        near.alike[j] = own[j] === target ? 0 : Math.max(arrays.weights.data[head.entry(target, own[j])], 0);
      const { places, ...told } = near.find((place) => found[head.entry(target, own[place])]);
      return { ...told, places: places.map((place) => inside[place]) };
    };
  };
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

/** Open and closed clusters: the own mean, and how people like the person rate an item beside theirs. */
import { makeHash } from "../cluster_hash.js";
import { gridParts, toGrid } from "../scale.js";
import { Predictor, total } from "./predictor.js";

/** How far ratings are from what a cluster expects, in parts of the scale's range. */
const SPREAD = 0.25;

/**
 * Own mean + an average of the item that the own ratings choose. A bucket's average is held back:
 * (S + t E) / (C + t), with S and C the sum and the number of ratings less what is expected to be made
 * up, t the release's `thin`, and E told. Where t is 0, E counts only where C is 0.
 */
class AveragesPredictor extends Predictor {
  constructor(release, name, parts) {
    super(release, name, parts);
    const { arrays, parameters } = release;
    this.everybody = arrays.item_effects.data;
    this.ends = arrays.bucket_ends.data;
    this.items = arrays.bucket_items.data;
    if (!(parameters.popular_share < 1)) throw new Error("parameter 'popular_share' must be below 1");
    if (!(parameters.thin < 1e9)) throw new Error("parameter 'thin' must be below 1e9");
    this._sums = arrays.bucket_sums.data;
    this._counts = arrays.bucket_counts.data;
    this._fakes = arrays.bucket_fakes.data;
    this._fakeMeans = arrays.bucket_fake_means.data;
    const rises = this.ends.every((end, bucket) => end >= this.begin(bucket));
    const fills = this.begin(this.ends.length) === this.items.length;
    if (!rises || !fills || this.items.some((item) => item >= this.size))
      throw new Error("the release's buckets do not fit its arrays or its catalogue");
  }

  /** Where a bucket's entries begin. */
  begin(bucket) {
    return bucket ? this.ends[bucket - 1] : 0;
  }

  _level(item) {
    return this.release.parameters.global_mean + this.everybody[item];
  }

  /**
   * By how much the items' averages differ from those of somebody unknown, and how far each own rating
   * pushed the choice. @returns {any} {beyond, pushes}
   */
  _choose(own, mean) {}

  /** The own mean. */
  _common({ values }) {
    return values.length && total(values) / values.length - this.release.parameters.global_mean;
  }

  /** A rating's share of what chose the averages. */
  _explain(own) {
    const { values } = own;
    const { beyond, pushes } = this._choose(own, total(values) / values.length);
    const whole = total(pushes);
    const parts = pushes.map((push) => (whole > 0 ? push / whole : 1 / pushes.length));
    const moved = new Float64Array(values.length);
    return (item) => {
      for (let j = 0; j < moved.length; j++) moved[j] = beyond[item] * parts[j];
      return moved;
    };
  }

  _heldBack(sum, number, expected, mean, towards) {
    const { thin, popular_share: popular, fake_percent: percent } = this.release.parameters;
    const count = Math.max(number * (1 - popular) - expected, 0);
    // Each upload's standardised ratings sum to 0: true ones are off by what fakes are not.
    const whole = sum - mean * (Math.min(number, expected) - (percent / 100) * count);
    if (thin > 0) return (whole + thin * towards) / (count + thin);
    return count > 0 ? whole / Math.max(count, 1e-9) : towards;
  }
}

/**
 * The average of the person's bucket, held back to that of the buckets at one bit's distance together,
 * and theirs to everybody's.
 */
export class BucketPredictor extends AveragesPredictor {
  /** @type {any} */
  _hash;

  static async make(release, name, parts) {
    const { bits, hash: kind = "orthogonal", beacon = "" } = release.parameters;
    const predictor = new this(release, name, parts);
    const buckets = predictor.ends.length;
    if (buckets !== 2 ** bits) throw new Error(`${buckets} buckets do not fit a hash of ${bits} bits`);
    const { digest } = release.catalog;
    predictor._hash = await makeHash({ digest, items: predictor.size, bits, kind, beacon });
    return predictor;
  }

  /** The person's hash value; null if their ratings do not tell one: none, or all the same. */
  bucket({ items, values }) {
    const { scale } = this.release;
    const codes = toGrid(scale, values);
    const turned = codes.map((code) => gridParts(scale) - code);
    const [found, opposite] = [codes, turned].map((each) => this._hash.value(items, each));
    // A tie sets a bit, and stays one when all ratings are turned over.
    const all = this.ends.length - 1;
    return found === all && opposite === all ? null : found;
  }

  _choose(own, mean) {
    const bucket = this.bucket(own);
    const pushes = new Float64Array(own.values.length);
    if (bucket === null) return { beyond: new Float64Array(this.size), pushes };
    const { vectors } = this._hash;
    const near = this._together(vectors.map((_, bit) => bucket ^ (1 << bit)), this.everybody);
    const beyond = this._together([bucket], near).map((average, item) => average - this.everybody[item]);
    // A rating counts by how much it pushes the hash's products the way they went.
    vectors.forEach((vector, bit) => {
      const sign = (bucket >> bit) & 1 ? 1 : -1;
      own.values.forEach((value, j) => {
        pushes[j] += Math.max(sign * vector[own.items[j]] * (value - mean), 0);
      });
    });
    return { beyond, pushes };
  }

  /** The averages of all items in these buckets together, held back to `towards`. */
  _together(buckets, towards) {
    const found = new Float64Array(this.size);
    const numbers = new Float64Array(this.size);
    let [expected, mean] = [0, 0];
    for (const bucket of buckets) {
      for (let at = this.begin(bucket); at < this.ends[bucket]; at++) {
        found[this.items[at]] += this._sums[at];
        numbers[this.items[at]] += this._counts[at];
      }
      expected += this._fakes[bucket];
      mean += this._fakes[bucket] * this._fakeMeans[bucket];
    }
    mean /= Math.max(expected, 1e-9);
    return found.map((sum, item) => this._heldBack(sum, numbers[item], expected, mean, towards[item]));
  }
}

/**
 * The averages of all clusters, held back to everybody's. Cluster c with n people weighs
 * n exp(-sum (x - a_c)^2 / 2 s^2), over the own ratings less their mean, x, and the cluster's averages
 * of the same items, a_c; s is a quarter of the scale's range. Everybody's averages count as a cluster
 * of one, the last.
 */
export class ClusterPredictor extends AveragesPredictor {
  constructor(release, name, parts) {
    super(release, name, parts);
    const { _sums: sums, _counts: counts, _fakes: fakes, _fakeMeans: means, everybody } = this;
    this._beyond = new Float64Array(this.items.length);
    this._entries((at, item, bucket) => {
      const average = this._heldBack(sums[at], counts[at], fakes[bucket], means[bucket], everybody[item]);
      this._beyond[at] = average - everybody[item];
    });
    // What is not shown is no cluster to be in.
    this._prior = Float64Array.from(release.arrays.bucket_raters.data, (raters, bucket) =>
      this.ends[bucket] > this.begin(bucket) ? Math.log(raters) : -Infinity);
    this._before = softmax(this._prior);
    this._mixed = this._mix(this._before);
  }

  _level(item) {
    return super._level(item) + this._mixed[item];
  }

  /** Call `visit(at, item, bucket)` for every entry. */
  _entries(visit) {
    for (let bucket = 0, at = 0; bucket < this.ends.length; bucket++)
      for (; at < this.ends[bucket]; at++) visit(at, this.items[at], bucket);
  }

  /** What clusters of these weights say beyond everybody's averages, of every item. */
  _mix(weights) {
    const found = new Float64Array(this.size);
    this._entries((at, item, bucket) => (found[item] += weights[bucket] * this._beyond[at]));
    return found;
  }

  _choose(own, mean) {
    const { lo, hi } = this.release.scale;
    const off = own.values.map((value, j) => value - mean - this.everybody[own.items[j]]);
    const places = new Int32Array(this.size).fill(-1);
    own.items.forEach((item, j) => (places[item] = j));
    const met = [];
    this._entries((at, item, bucket) => {
      const j = places[item];
      // How much better the cluster explains this rating than everybody does.
      if (j >= 0) met.push([bucket, j, (2 * off[j] - this._beyond[at]) * this._beyond[at]]);
    });
    const fits = this._prior.slice();
    for (const [bucket, , gain] of met) fits[bucket] += gain / (2 * (SPREAD * (hi - lo)) ** 2);
    const gained = softmax(fits).map((weight, bucket) => weight - this._before[bucket]);
    const pushes = new Float64Array(off.length);
    for (const [bucket, j, gain] of met) pushes[j] += gained[bucket] * gain;
    return { beyond: this._mix(gained), pushes: pushes.map((push) => Math.max(push, 0)) };
  }
}

/** Weights from logarithms, beside one more of which it is 0; all together 1. */
function softmax(logarithms) {
  const most = logarithms.reduce((largest, one) => Math.max(largest, one), 0);
  const found = logarithms.map((one) => Math.exp(one - most));
  const whole = total(found) + Math.exp(-most);
  return found.map((one) => one / whole);
}

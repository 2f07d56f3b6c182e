/**
 * At home: a release and a person's own ratings become scores and recommendations.
 *
 * Memory: a predictor keeps two or three numbers an item beside the release's arrays (`knn`,
 * `slope-one` and `cosine` also one or two triangles of the head's pairs), and room for one list of
 * scores, which `recommend` uses again each time.
 */

// By method, its own first. Modules are loaded when a predictor is first made.
const METHODS = {
  refined: ["posterior", "knn", "svd"],
  covariance: ["svd", "knn", "posterior"],
  "slope-one": ["slope-one"],
  cosine: ["cosine"],
  "open-clusters": ["buckets", "clusters"],
  "closed-clusters": ["clusters"],
};
const KINDS = {
  posterior: async () => (await import("./predict/posterior.js")).PosteriorPredictor,
  svd: () => KINDS.posterior(),
  knn: async () => (await import("./predict/knn.js")).KnnPredictor,
  "slope-one": async () => (await import("./predict/pairs.js")).SlopeOnePredictor,
  cosine: async () => (await import("./predict/pairs.js")).CosinePredictor,
  buckets: async () => (await import("./predict/clusters.js")).BucketPredictor,
  clusters: async () => (await import("./predict/clusters.js")).ClusterPredictor,
};

/**
 * The predictors that read a release, its method's own first; nearest neighbours need ratings.
 * @param {import("./release.js").Release} release
 * @returns {string[]}
 */
export function predictorNames({ method, scale }) {
  return METHODS[method].filter((name) => !(scale.presence && name === "knn"));
}

/**
 * A predictor for a release; what it does afterwards is done at once.
 * @param {import("./release.js").Release} release
 * @param {string} [name] The method's own if absent.
 * @returns {Promise<import("./predict/predictor.js").Predictor>}
 * @throws {Error} There is none of this name for the release.
 */
export async function makePredictor(release, name = predictorNames(release)[0]) {
  const names = predictorNames(release);
  if (!names.includes(name))
    throw new Error(`'${name}' is no predictor for this release; it has ${names.join(", ")}`);
  return (await KINDS[name]()).make(release, name);
}

/**
 * Own ratings as predictors and protocols take them, from pairs of catalogue index and rating.
 * @param {Iterable<[number, number]>} pairs Each item at most once, in any order.
 * @returns {import("./predict/predictor.js").Own}
 */
export function ownRatings(pairs) {
  const sorted = [...pairs].sort(([a], [b]) => a - b);
  return {
    items: Int32Array.from(sorted, ([item]) => item),
    values: Float64Array.from(sorted, ([, value]) => value),
  };
}

/** At home: a release and a person's own ratings become scores and recommendations. */

// By method, its own first. Modules are loaded when a predictor is first made.
const METHODS = {
  refined: ["posterior", "knn", "svd"],
  lists: ["lists"],
  covariance: ["svd", "knn", "posterior"],
  "slope-one": ["slope-one"],
  cosine: ["cosine"],
  "open-clusters": ["buckets", "clusters"],
  "closed-clusters": ["clusters"],
};
const KINDS = {
  posterior: "posterior Posterior", svd: "posterior Posterior", knn: "knn Knn", lists: "lists Lists",
  "slope-one": "pairs SlopeOne", cosine: "pairs Cosine",
  buckets: "clusters Bucket", clusters: "clusters Cluster",
};

/** Scripts that a release's predictors need beside their own, by an array that makes them necessary. */
const PARTS = { list_start: "lists", covariance: "matrix" };

/** The predictors that read a release, its method's own first; nearest neighbours need ratings. */
export const predictorNames = ({ method, scale }) =>
  METHODS[method].filter((name) => !(scale.presence && name === "knn"));

/** Those to choose from: a formula that has two names is listed by the first. */
export const predictorChoices = (release) =>
  predictorNames(release).filter((name, i, all) => all.findIndex((each) => KINDS[each] === KINDS[name]) === i);

/** The scripts of all of a release's predictors. @returns {string[]} addresses */
export const predictorScripts = (release) => [...new Set([...predictorNames(release).map((name) => placeOf(KINDS[name])), ...partsOf(release)])];

const partsOf = ({ arrays }) => Object.keys(PARTS).filter((name) => arrays[name]).map((name) => placeOf(PARTS[name]));

const loaded = {};
/** A script, asked for once, come what may: who asked again would show what is chosen. @param {string} place */
export const load = (place) => (loaded[place] ??= import(place));

const placeOf = (kind) => new URL(`predict/${kind.split(" ")[0]}.js`, import.meta.url).href;

/**
 * A predictor for a release, its method's own if no name is told.
 * @param {import("./release.js").Release} release @param {string} [name] one of `predictorNames`
 * @returns {Promise<import("./predict/predictor.js").Predictor>}
 */
export async function makePredictor(release, name = predictorNames(release)[0]) {
  const [, kind] = KINDS[name].split(" ");
  const [own, ...parts] = await Promise.all([placeOf(KINDS[name]), ...partsOf(release)].map(load));
  return own[`${kind}Predictor`].make(release, name, Object.assign({}, ...parts));
}

/**
 * Own ratings as predictors and protocols take them.
 * @param {Iterable<[number, number]>} pairs of catalogue index and rating, in any order
 * @returns {import("./predict/predictor.js").Own}
 */
export function ownRatings(pairs) {
  const sorted = [...pairs].sort(([a], [b]) => a - b);
  return { items: Int32Array.from(sorted, ([item]) => item), values: Float64Array.from(sorted, ([, value]) => value) };
}

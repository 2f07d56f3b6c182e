/** Recommendations from release files, and the noise of those who contribute: the modules of discreet's own page. */
export { flipCoins } from "./js/coins.js";
export { LocalClient, readCollection as readLocalCollection } from "./js/local_reports.js";
export { drawNoise } from "./js/noise.js";
export { OpenClient, readCollection as readOpenCollection } from "./js/open_clusters.js";
export { makePredictor, ownRatings, predictorNames } from "./js/predict.js";
export { queryVector } from "./js/predict/vectors.js";
export { systemRandom } from "./js/random.js";
export { readRelease } from "./js/release.js";
export { readScale } from "./js/scale.js";

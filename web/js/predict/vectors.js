/** A person as a vector, for an index of the vectors that `discreet export --vectors` writes; as predict/_vectors.py. */
import { solve } from "./model.js";

/**
 * As private as the ratings that it is made from.
 * @param {any} predictor @param {import("./predictor.js").Own} own
 * @param {"lists" | "expected"} [order] what the index is ordered by
 */
export function queryVector(predictor, own, order = predictor.isRating ? "expected" : "lists") {
  if (order === "expected") {
    if (!predictor.isRating || !predictor._system) throw new Error("expected ratings need a release of ratings, and predictor posterior or svd");
    const { A, b } = predictor._system(own);
    solve(A, b.length, b.length, b);
    return Float32Array.of(...b, 1);
  }
  if (!predictor.lists) throw new Error("this release has no lists section");
  const { rows } = predictor.lists;
  const rank = rows.length / predictor.size;
  const sum = new Float64Array(rank);
  for (const item of own.items) for (let f = 0; f < rank; f++) sum[f] += rows[item * rank + f];
  const has = own.items.length ? 1 : 0;
  return Float32Array.of(...sum, has, 1 - has);
}

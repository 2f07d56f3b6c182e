// A list from a release file in Node: node recommend.mjs films.discreet "Alien=5" "Heat=4"
import { readFile } from "node:fs/promises";

import { makePredictor, ownRatings, queryVector, readRelease } from "discreet-client";

const [path, ...told] = process.argv.slice(2);
const { buffer } = Uint8Array.from(await readFile(path));
const release = await readRelease(buffer);
const pairs = told.map((text) => {
  const at = text.lastIndexOf("=");
  return /** @type {[number, number]} */ ([release.catalog.find(text.slice(0, at)), Number(text.slice(at + 1))]);
});
const own = ownRatings(pairs.filter(([item]) => item !== undefined));
const predictor = await makePredictor(release);
for (const { id, title } of predictor.recommend(own, 10)) console.log(id, title);
if (process.env.VECTOR) console.log(JSON.stringify([...queryVector(predictor, own)]));

// The package says what Python says, on releases of every method, and its noise comes from the system.
import assert from "node:assert/strict";
import test from "node:test";

import { drawNoise, makePredictor, predictorNames, readRelease, systemRandom } from "./index.js";
import { cases, ownOf } from "../../tests/web/_releases.mjs";

for (const { name, file, predictors, people, answers } of cases)
  test(`${name}: as Python`, async () => {
    const release = await readRelease(file);
    assert.deepEqual(predictorNames(release), predictors);
    for (const each of predictors.filter((one) => answers[one])) {
      const model = await makePredictor(release, each);
      people.forEach((person, i) => {
        const expected = answers[each][i].recommendations.map(([item]) => item);
        assert.deepEqual(model.recommend(ownOf(person), 5).map(({ index }) => index), expected);
      });
    }
  });

test("noise is whole numbers around 0, and differs each time", () => {
  const [one, other] = [0, 1].map(() => [...drawNoise(2, 1_000, systemRandom())]);
  assert.ok(one.every(Number.isInteger));
  assert.notDeepEqual(one, other);
});

// Scales make of numbers what Python's make of them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { checkScale, contains, fromGrid, gridParts, levels, nearest, toGrid } from "../../web/js/scale.js";

const FILE = new URL("../vectors/predictions.json", import.meta.url);
const { scales } = JSON.parse(readFileSync(FILE, "utf8"));

for (const { scale, numbers, ...told } of scales) {
  test(`${scale.lo} to ${scale.hi} by ${scale.step}${scale.presence ? ", presence" : ""}`, () => {
    assert.doesNotThrow(() => checkScale(scale));
    assert.deepEqual(levels(scale), scale.presence ? [1] : told.levels);
    assert.equal(gridParts(scale), scale.step === null ? 255 : told.levels.length - 1);
    assert.deepEqual(numbers.map((one) => contains(scale, one)), told.contains);
    assert.deepEqual(numbers.map((one) => nearest(scale, one)), told.nearest);
    assert.deepEqual([...toGrid(scale, numbers)], told.codes);
    assert.deepEqual([...fromGrid(scale, told.codes)], told.from_codes);
    assert.equal(contains(scale, NaN), false);
  });
}

test("what is no scale is refused", () => {
  const wrong = [
    [{ lo: 5, hi: 1, step: 1 }, /lo < hi/],
    [{ lo: "1", hi: 5, step: 1 }, /lo < hi/],
    [{ lo: 1, hi: Infinity, step: 1 }, /lo < hi/],
    [{ lo: 1e9, hi: 1e9 + 1, step: 0.5 }, /narrow/],
    [{ lo: 1e12, hi: 1e12 + 1, step: null }, /narrow/],
    [{ lo: 1, hi: 5, step: 0 }, /step/],
    [{ lo: 1, hi: 5, step: -1 }, /step/],
    [{ lo: 1, hi: 5, step: 0.3 }, /step/],
    [{ lo: 0, hi: 256, step: 1 }, /step/],
    [{ lo: 1, hi: 5, step: 1, presence: true }, /presence/],
    [{ lo: 0, hi: 1, step: 1, presence: 1 }, /presence/],
    [{ lo: 1, hi: 5, step: 1, colour: "red" }, /alone/],
  ];
  for (const [scale, reason] of wrong) assert.throws(() => checkScale(scale), reason);
  assert.doesNotThrow(() => checkScale({ lo: 0, hi: 255 }));
});

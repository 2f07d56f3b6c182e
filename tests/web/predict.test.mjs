// The predictors say what Python says, on releases of every method; lists, ties, refusals, speed.
import assert from "node:assert/strict";
import test from "node:test";

import { makePredictor, ownRatings, predictorChoices, predictorNames } from "../../web/js/predict.js";
import { readRelease } from "../../web/js/release.js";
import { cases, numbersOf, ownOf } from "./_releases.mjs";

const TOLERANCE = 1e-5;
/** In float64 on both sides; Python finds neighbours by factors in float32. */
const CLOSE = 1e-9;

function farthest(found, expected) {
  assert.equal(found.length, expected.length);
  const off = (one, i) => Math.abs(found[i] - one) / Math.max(1, Math.abs(one));
  return expected.reduce((far, one, i) => Math.max(far, off(one, i)), 0);
}

function close(found, expected, tolerance, what) {
  const off = farthest(found, expected);
  assert.ok(off <= tolerance, `${what}: off by ${off}`);
}

function same(model, own, told, exact) {
  const digits = exact ? CLOSE : TOLERANCE;
  close(model.scores(own), numbersOf(told.scores, Float32Array), exact ? 2e-7 : TOLERANCE, "scores");
  close(model.predict(own, told.items), numbersOf(told.predictions, Float64Array), digits, "predictions");
  const moved = numbersOf(told.contributions, Float64Array);
  told.items.forEach((item, i) => {
    const expected = moved.subarray(i * own.items.length, (i + 1) * own.items.length);
    close(model.contributions(own, item), expected, digits, `contributions to ${item}`);
  });
  const list = model.recommend(own, 5);
  assert.deepEqual(list.map(({ index }) => index), told.recommendations.map(([item]) => item));
  const { ids, titles } = model.release.catalog;
  told.recommendations.forEach(([item, score, because], i) => {
    const { id, title, because: reasons } = list[i];
    assert.deepEqual([id, title], [ids[item], titles[item]]);
    close([list[i].score], [score], TOLERANCE, "score");
    assert.deepEqual(reasons.map(({ index }) => index), because.map(([index]) => index));
    assert.deepEqual(reasons.map((reason) => reason.title), because.map(([index]) => titles[index]));
    close(reasons.map(({ amount }) => amount), because.map(([, by]) => by), TOLERANCE, "reasons");
  });
}

for (const { name, file, predictors, people, answers } of cases) {
  test(`${name}: as Python`, async () => {
    const release = await readRelease(file);
    assert.deepEqual(predictorNames(release), predictors);
    for (const each of predictors) {
      const told = answers[each] ?? answers[each === "svd" ? "posterior" : "svd"];
      const model = await makePredictor(release, each);
      assert.equal(model.name, each);
      const exact = each !== "knn" || release.arrays.factors.shape[1] === 0;
      people.forEach((person, i) => same(model, ownOf(person), told[i], exact));
    }
    assert.equal((await makePredictor(release)).name, predictors[0]);
  });

  test(`${name}: predictions are scores, cut; reasons add up; own items are left out`, async () => {
    const release = await readRelease(file);
    const { lo, hi, presence } = release.scale;
    const nobody = ownOf({ items: [], values: [] });
    for (const each of predictors) {
      const model = await makePredictor(release, each);
      const base = model.scores(nobody);
      for (const own of people.map(ownOf)) {
        const scores = model.scores(own);
        const inside = (one) => Math.min(Math.max(one, lo), hi);
        const cut = scores.map((one) => (presence ? Math.exp(Math.min(one, 0)) : inside(one)));
        close(model.predict(own), cut, 1e-6, "predictions");
        const item = scores.length - 1;
        const moved = model.contributions(own, item).reduce((sum, one) => sum + one, 0);
        close([base[item] + moved], [scores[item]], TOLERANCE, "personal part");
        const list = model.recommend(own, 10 ** 6).map(({ index }) => index);
        const rated = new Set(own.items);
        const open = [...scores.keys()].filter((i) => !rated.has(i));
        assert.deepEqual(list, open.sort((a, b) => scores[b] - scores[a] || a - b));
      }
    }
  });
}

test("equals are listed in the catalogue's order", async () => {
  const release = await readRelease(cases.find(({ name }) => name === "refined").file);
  const model = await makePredictor(release);
  const list = model.recommend(ownRatings([[0, 5], [3, 1]]), 1000).map(({ index }) => index);
  const last = release.catalog.ids.length - 1;
  const scores = model.scores(ownRatings([[0, 5], [3, 1]]));
  assert.equal(scores[last], scores[last - 1]);
  assert.equal(list.indexOf(last), list.indexOf(last - 1) + 1);
});

test("own ratings are put in order; what is none is refused", async () => {
  const own = ownRatings(new Map([[7, 2], [1, 5]]));
  assert.deepEqual([[...own.items], [...own.values]], [[1, 7], [5, 2]]);
  const model = await makePredictor(await readRelease(cases[0].file));
  const wrong = [
    { items: [3, 3], values: [1, 1] },
    { items: [-1], values: [1] },
    { items: [model.size], values: [1] },
    { items: [1], values: [NaN] },
    { items: [1], values: [] },
  ].map(ownOf);
  for (const one of wrong) {
    assert.throws(() => model.scores(one), /rising order/);
    assert.throws(() => model.recommend(one), /rising order/);
    assert.throws(() => model.contributions(one, 0), /rising order/);
  }
  assert.throws(() => model.predict(own, [model.size]), /items are from 0 to/);
  assert.throws(() => model.contributions(own, 0.5), /items are from 0 to/);
  assert.throws(() => model.recommend(own, -1), /how many/);
  assert.deepEqual(model.recommend(own, 0), []);
});

test("a predictor that does not read the release is refused", async () => {
  const presence = await readRelease(cases.find(({ name }) => name === "refined, presence").file);
  await assert.rejects(makePredictor(presence, "knn"), /it has posterior, svd/);
  await assert.rejects(makePredictor(presence, "constructor"), /no predictor/);
});

test("buckets that do not fit are refused", async () => {
  const { file } = cases.find(({ name }) => name === "open-clusters");
  const told = async (change) => {
    const release = await readRelease(file.slice(0));
    change(release);
    return makePredictor(release);
  };
  await assert.rejects(told((r) => (r.parameters.bits = 4)), /8 buckets do not fit a hash of 4 bits/);
  await assert.rejects(told((r) => (r.parameters.popular_share = 1)), /popular_share/);
  await assert.rejects(told((r) => (r.arrays.bucket_items.data[0] = 20)), /do not fit/);
  await assert.rejects(told((r) => r.arrays.bucket_ends.data.fill(0, -1)), /do not fit/);
});

function large(items, rank) {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
  const list = (length, least = -1) => {
    const data = Float32Array.from({ length }, () => Math.max(random(), least));
    return { data, shape: [length] };
  };
  const ids = Array.from({ length: items }, (_, i) => `${i}`);
  return {
    method: "refined",
    scale: { lo: 1, hi: 5, step: 1, presence: false },
    parameters: { global_mean: 3.5, user_variance: 0.2, rating_variance: 0.7 },
    catalog: { ids, titles: ids },
    arrays: {
      item_effects: list(items), item_effect_variances: list(items, 0), item_counts: list(items, 0),
      factor_variances: list(items, 0), factors: { ...list(items * rank), shape: [items, rank] },
    },
  };
}

test("17,770 items at rank 20 are ranked again within 50 ms, reasons and all", async () => {
  const model = await makePredictor(large(17770, 20));
  const own = ownRatings(Array.from({ length: 100 }, (_, j) => [170 * j, 1 + (j % 5)]));
  const times = Array.from({ length: 15 }, () => {
    const begin = performance.now();
    const list = model.recommend(own, 20);
    assert.ok(list.length === 20 && list[0].because.length > 0);
    return performance.now() - begin;
  });
  const median = times.sort((a, b) => a - b)[7];
  assert.ok(median < 50, `took ${median} ms`);
});

test("many own ratings, beyond what nearest neighbours keep products of", async () => {
  const model = await makePredictor(large(1500, 4), "knn");
  const pairs = Array.from({ length: 1100 }, (_, j) => [j, 1 + (j % 5)]);
  const [many, kept] = [ownRatings(pairs), ownRatings(pairs.slice(0, 1000))];
  const moved = model.contributions(many, 1400);
  const base = model.predict(ownRatings([]), [1400])[0];
  close([base + moved.reduce((sum, one) => sum + one, 0)], model.predict(many, [1400]), 1e-9, "knn");
  assert.notEqual(model.predict(many, [1400])[0], model.predict(kept, [1400])[0]);
});

const KNN = cases.filter(({ predictors }) => predictors.includes("knn"));
for (const { name, file } of KNN)
  test(`${name}: nearest neighbours that are kept between changes are those of a fresh predictor`, async () => {
    const release = await readRelease(file);
    const model = await makePredictor(release, "knn");
    const size = release.catalog.ids.length;
    let seed = 7;
    const below = (n) => (seed = (seed * 48271) % 2147483647) % n;
    const rated = new Map();
    for (let turn = 0; turn < 120; turn++) {
      // It grows and shrinks, past the number of neighbours and back; at times a lot at once.
      for (let times = turn % 20 ? 1 : 12; times; times--) {
        const item = below(size);
        if (below(100) < (turn < 70 ? 20 : 60)) rated.delete(item);
        else rated.set(item, 1 + below(5));
      }
      const own = ownRatings(rated);
      const fresh = await makePredictor(release, "knn");
      assert.deepEqual(model.scores(own), fresh.scores(own), `turn ${turn}`);
      const item = below(size);
      assert.deepEqual(model.contributions(own, item), fresh.contributions(own, item));
    }
  });

test("the neighbours of equals that had to be parted are kept as a fresh predictor finds them", async () => {
  const release = large(60, 3);
  const { data } = release.arrays.factors;
  const { data: noise } = release.arrays.factor_variances;
  for (let item = 0; item < 60; item++) {
    data.set(data.subarray(0, 3).map((one, f) => one + (item % 3) * f), 3 * item);
    noise[item] = 0.1;
    release.arrays.item_effect_variances.data[item] = 0;
  }
  const model = await makePredictor(release, "knn");
  for (const items of [[...Array(30).keys()], [...Array(31).keys()], [...Array(29).keys()], [...Array(31).keys()].slice(2)]) {
    const own = ownRatings(items.map((item) => [item, 1 + (item % 5)]));
    assert.deepEqual(model.scores(own), (await makePredictor(release, "knn")).scores(own));
  }
});

test("17,770 items are ranked again by nearest neighbours many times faster than at first", async () => {
  const model = await makePredictor(large(17770, 20), "knn");
  const rated = new Map(Array.from({ length: 150 }, (_, j) => [110 * j, 1 + (j % 5)]));
  const took = () => {
    const [own, begin] = [ownRatings(rated), performance.now()];
    model.recommend(own, 10);
    return performance.now() - begin;
  };
  const first = took();
  const value = [1, 2, 3, 4, 5].map((stars) => (rated.set(0, stars), took())).sort((a, b) => a - b)[2];
  const added = [1, 2, 3, 4, 5].map((item) => (rated.set(item, 4), took())).sort((a, b) => a - b)[2];
  assert.ok(value < first / 8 && added < first / 2, `first ${first} ms, value ${value} ms, added ${added} ms`);
});

test("a formula that has two names is offered by the release's own", () => {
  const scale = { presence: false };
  assert.deepEqual(predictorChoices({ method: "refined", scale }), ["posterior", "knn"]);
  assert.deepEqual(predictorChoices({ method: "covariance", scale }), ["svd", "knn"]);
  assert.deepEqual(predictorChoices({ method: "open-clusters", scale }), ["buckets", "clusters"]);
});

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
      // Kept weights may have been worked out another way, with other roundings.
      close([...model.scores(own)], [...fresh.scores(own)], 1e-6, `turn ${turn}`);
      const item = below(size);
      close([...model.contributions(own, item)], [...fresh.contributions(own, item)], 1e-9, `turn ${turn}`);
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
    close([...model.scores(own)], [...(await makePredictor(release, "knn")).scores(own)], 1e-6, "kept");
  }
});

test("where another value is told nothing is worked out again, and where a title comes only what it touches", async () => {
  const model = await makePredictor(large(3000, 20), "knn");
  const rated = new Map(Array.from({ length: 150 }, (_, j) => [19 * j, 1 + (j % 5)]));
  let found = 0;
  const make = model._makeByFactors;
  model._makeByFactors = function (items) {
    const find = make.call(this, items);
    return (item) => (found++, find(item));
  };
  const after = (item, stars) => {
    found = 0;
    rated.set(item, stars);
    model.recommend(ownRatings(rated), 10);
    return found;
  };
  assert.equal(after(0, 4), 3000);
  assert.equal(after(0, 5), 0);
  const touched = after(1, 5);
  assert.ok(touched > 0 && touched < 1500, `${touched}`);
});

/** The weights of an item's neighbours by elimination, as the formula has them. */
function weightsOf(model, items, item) {
  const row = (one) => [...model.factors.subarray(one * model.rank, (one + 1) * model.rank)];
  const product = (one, other) => row(one).reduce((sum, factor, f) => sum + factor * row(other)[f], 0);
  const spread = (one) => product(one, one) + model.noise[one];
  const alike = (one) => Math.fround(product(item, one) ** 2 / spread(one));
  const others = items.filter((one) => one !== item && alike(one) > 0);
  const chosen = others.sort((a, b) => alike(b) - alike(a) || a - b).slice(0, 20);
  const A = chosen.map((p) => [...chosen.map((q) => (p === q ? spread(p) : product(p, q))), product(p, item)]);
  A.forEach((pivot, p) =>
    A.forEach((other, q) => {
      const share = other[p] / pivot[p];
      if (q !== p) A[q] = other.map((entry, at) => entry - share * pivot[at]);
    }));
  return new Map(chosen.map((one, p) => [one, A[p].at(-1) / A[p][p]]));
}

for (const [count, kinds] of [19, 20, 21, 27, 34, 35, 60].flatMap((count) => [[count, 60], [count, 1]]))
  test(`nearest neighbours among ${count} own items of ${kinds} kinds have the formula's weights`, async () => {
    const release = large(90, 5);
    // Alike to the last digit: the earlier ones are neighbours.
    const { factors, factor_variances: more, item_effect_variances: less } = release.arrays;
    for (let item = kinds; item < 60; item++) {
      factors.data.copyWithin(5 * item, 0, 5);
      [more.data[item], less.data[item]] = [more.data[0], less.data[0]];
    }
    const model = await makePredictor(release, "knn");
    const own = ownRatings(Array.from({ length: count }, (_, j) => [j, 1 + ((3 * j) % 5)]));
    const [residuals, shares] = [model.residuals(own), model.biasShares(own)];
    for (const item of [0, 5, 20, 41, 70, 85]) {
      const weights = weightsOf(model, [...own.items], item);
      assert.equal(weights.size, Math.min(20, count - (item < count)));
      const rest = 1 - [...weights.values()].reduce((sum, one) => sum + one, 0);
      const right = [...own.items].map((one, j) => ((weights.get(one) ?? 0) + shares[j] * rest) * residuals[j]);
      close([...model.contributions(own, item)], right, 1e-9, `item ${item}`);
    }
  });

test("a formula that has two names is offered by the release's own", () => {
  const scale = { presence: false };
  assert.deepEqual(predictorChoices({ method: "refined", scale }), ["posterior", "knn"]);
  assert.deepEqual(predictorChoices({ method: "covariance", scale }), ["svd", "knn"]);
  assert.deepEqual(predictorChoices({ method: "open-clusters", scale }), ["buckets", "clusters"]);
});

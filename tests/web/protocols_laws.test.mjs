// The laws of everything that is drawn at home, with the system's own randomness. All tests together
// fail a correct sampler about once in a million runs: each of about 100 comparisons has 1e-8.
import assert from "node:assert/strict";
import test from "node:test";

import { flipCoins } from "../../web/js/coins.js";
import { drawReport, readCollection, readReport } from "../../web/js/local_reports.js";
import { drawBinomial, drawNoise, drawPlaces } from "../../web/js/noise.js";
import { choosePlaces, drawCodes } from "../../web/js/obfuscation.js";
import { OpenClient, readCollection as readOpen } from "../../web/js/open_clusters.js";
import { drawBelow, Random, systemRandom } from "../../web/js/random.js";
import { announceLocal, announceOpen, catalogOf } from "./_protocols.mjs";

/** The system's randomness, 64 kB at a time: to ask for every few bytes takes most of the time. */
function pooled() {
  const pool = new Uint8Array(65536);
  let at = pool.length;
  return new Random((bytes) => {
    if (bytes.length > pool.length) throw new Error("ask for less");
    if (at + bytes.length > pool.length) {
      crypto.getRandomValues(pool);
      at = 0;
    }
    bytes.set(pool.subarray(at, (at += bytes.length)));
  });
}

const [system, random] = [systemRandom(), pooled()];
const NORMAL = 5.61; // its upper tail is 1e-8
const LEAST = 100; // expected in a bin, so that chi-square's tail can be relied on

/** The chi-square's quantile at the same tail, after Wilson and Hilferty; too high for few bins. */
const bound = (free) => free * (1 - 2 / (9 * free) + NORMAL * Math.sqrt(2 / (9 * free))) ** 3;

/** Counts and chances by name, bins with few expected draws taken together. */
function fits(counts, chances, draws, what) {
  let [square, bins, rest, restSeen] = [0, 0, 1, draws];
  for (const [name, chance] of chances) {
    if (chance * draws < LEAST) continue;
    const seen = counts.get(name) ?? 0;
    square += (seen - chance * draws) ** 2 / (chance * draws);
    bins++;
    rest -= chance;
    restSeen -= seen;
  }
  if (rest * draws >= LEAST) {
    square += (restSeen - rest * draws) ** 2 / (rest * draws);
    bins++;
  } else {
    const mean = Math.max(rest, 0) * draws; // too little for a bin; more than this has less than 1e-8
    assert.ok(restSeen <= mean + 6.5 * Math.sqrt(mean) + 30, `${what}: ${restSeen} unlikely draws`);
  }
  if (bins > 1) assert.ok(square < bound(bins - 1), `${what}: ${square} with ${bins} bins`);
}

const tally = (values) => values.reduce((seen, one) => seen.set(one, (seen.get(one) ?? 0) + 1), new Map());

/** The chances of the two-sided geometric law, as far as they matter. */
function geometric(scale) {
  const q = Math.exp(-1 / scale);
  const reach = Math.ceil(40 * scale);
  return Array.from({ length: 2 * reach + 1 }, (_, i) => [
    i - reach, ((1 - q) / (1 + q)) * q ** Math.abs(i - reach),
  ]);
}

/** The same in bins of some width: a bin's chances are a geometric series. */
function binned(scale, width) {
  const q = Math.exp(-1 / scale);
  const reach = Math.ceil((40 * scale) / width);
  const series = Math.expm1(-width / scale) / Math.expm1(-1 / scale);
  const nearest = (bin) => (bin < 0 ? -(bin + 1) * width + 1 : bin * width);
  return new Map(
    Array.from({ length: 2 * reach + 1 }, (_, i) => [
      i - reach, ((1 - q) / (1 + q)) * q ** nearest(i - reach) * series,
    ]),
  );
}

test("noise is two-sided geometric, where a cell is an integer and where it holds many", () => {
  for (const scale of [0.05, 1, 90, 511.9, 700, 5100.5, 51000]) {
    const width = Math.max(1, Math.floor(scale / 8));
    const drawn = drawNoise(scale, 120_000, system);
    const seen = tally([...drawn].map((k) => Math.floor(k / width)));
    fits(seen, binned(scale, width), drawn.length, `scale ${scale}`);
  }
});

test("within a coarse cell every integer has its own chance, zero half of its neighbours'", () => {
  const drawn = drawNoise(512.5, 400_000, system); // cells of two integers
  const near = tally([...drawn].filter((k) => Math.abs(k) < 40));
  fits(near, new Map(geometric(512.5).filter(([k]) => Math.abs(k) < 40)), drawn.length, "near zero");
  const odd = tally([...drawn].map((k) => Math.abs(k) % 2));
  const q = Math.exp(-1 / 512.5);
  fits(odd, new Map([[1, (2 * q) / (1 + q) ** 2]]), drawn.length, "parity");
});

test("coins and whole numbers", () => {
  for (const [ways, exponent] of [[1, 0.005], [1, 0.5], [5, 1], [255, 6], [1, 25]]) {
    const kept = tally(flipCoins(ways, exponent, 100_000, system));
    const chance = 1 / (1 + ways * Math.exp(-exponent));
    fits(kept, new Map([[true, chance], [false, 1 - chance]]), 100_000, `keep ${ways} ${exponent}`);
  }
  for (const size of [1, 2, 3, 5, 100, 255]) {
    const drawn = tally([...drawBelow(size, 100_000, system)]);
    const chances = new Map(Array.from({ length: size }, (_, i) => [i, 1 / size]));
    fits(drawn, chances, 100_000, `below ${size}`);
    assert.ok([...drawn.keys()].every((one) => one >= 0 && one < size));
  }
});

test("the number of items that show is binomial", () => {
  for (const [items, ways, exponent] of [[1, 1, 0.5], [6, 5, 1], [40, 1, 2], [40, 255, 0.01], [17_570, 1, 0.5]]) {
    const odds = ways * Math.exp(-exponent);
    const logs = [-items * Math.log1p(odds)];
    for (let k = 0; k < items; k++) logs.push(logs[k] + Math.log((odds * (items - k)) / (k + 1)));
    const draws = 20_000;
    const drawn = tally(Array.from({ length: draws }, () => drawBinomial(items, ways, exponent, random)));
    fits(drawn, new Map(logs.map((log, k) => [k, Math.exp(log)])), draws, `binomial ${items}`);
  }
});

test("every set of places is as likely", () => {
  for (const [count, among, sets] of [[3, 6, 20], [5, 7, 21], [1, 4, 4], [4, 4, 1], [0, 4, 1]]) {
    const drawn = tally(Array.from({ length: 20_000 }, () => drawPlaces(count, among, random).join()));
    assert.equal(drawn.size, sets);
    fits(drawn, new Map([...drawn.keys()].map((set) => [set, 1 / sets])), 20_000, `places ${count} of ${among}`);
  }
});

/** The law of an answer: nothing (null), or a number, for a rating on the grid or none (null). */
function answerLaw(collection, rating) {
  const { mechanism, epsilon, reach, answers, least, largest } = collection;
  const law = new Map();
  const add = (name, chance) => law.set(name, (law.get(name) ?? 0) + chance);
  if (mechanism === "modified-laplace") {
    const keep = 1 / (1 + Math.exp(-epsilon / 2));
    const shows = rating === null ? 1 - keep : keep;
    add(null, 1 - shows);
    for (const [k, chance] of geometric((2 * reach) / epsilon))
      add(Math.min(Math.max(k + (rating ?? 0), least), largest), shows * chance);
    return law;
  }
  // Between two answers: each with the chance of its share.
  const symbol = rating === null ? null : ((rating + reach) * (answers - 1)) / (2 * reach) + 1;
  const share = (told) => told === symbol ? 1 : told === null || symbol === null ? 0 : Math.max(0, 1 - Math.abs(told - symbol));
  const whole = Math.exp(epsilon) + answers;
  for (const told of [null, ...Array.from({ length: answers }, (_, i) => i + 1)])
    add(told, (1 + (Math.exp(epsilon) - 1) * share(told)) / whole);
  return law;
}

const LOCAL = [
  ["modified-laplace", "1..5", 1000, [1, 4]],
  ["modified-laplace", "0.5..5/0.5", 3000, [0.5, 3.5]],
  ["modified-laplace", "-10..10/continuous", 350, [-10, 9.97]],
  ["randomized-response", "1..5", 1000, [1, 4]],
  ["rounded-response", "1..5", 1000, [1, 4]],
  ["rounded-response", "-10..10/continuous", 2000, [-10, 9.97]],
  ["randomized-response", "0.5..5/0.5", 3000, [5, 2]],
];

for (const [mechanism, scale, thousandths, [low, high]] of LOCAL)
  test(`a report has the law of its mechanism: ${mechanism}, ${scale}`, async () => {
    const catalog = catalogOf(6);
    const announced = announceLocal(catalog, { mechanism, scale, epsilon_thousandths: thousandths });
    const collection = await readCollection(announced, catalog);
    const own = { items: Int32Array.of(1, 4), values: Float64Array.of(low, high) };
    const grid = [low, high].map((rating) => Math.round((rating - collection.mid) / collection.unit));
    const draws = 30_000;
    const told = Array.from({ length: draws }, () => {
      const { items, values } = readReport(drawReport(collection, own, random), collection);
      const found = new Map(Array.from(items, (item, i) => [item, values[i]]));
      return Array.from({ length: 6 }, (_, item) => found.get(item) ?? null);
    });
    const laws = Array.from({ length: 6 }, (_, item) =>
      answerLaw(collection, { 1: grid[0], 4: grid[1] }[item] ?? null),
    );
    const width = Math.max(1, Math.floor((2 * collection.reach) / collection.epsilon / 16));
    const cell = (answer) => (answer === null ? "nothing" : Math.floor(answer / width));
    for (const items of [[1], [4], [0, 2, 3, 5]]) {
      const law = new Map();
      laws[items[0]].forEach((chance, answer) => law.set(cell(answer), (law.get(cell(answer)) ?? 0) + chance));
      const answers = told.flatMap((each) => items.map((item) => each[item]));
      fits(tally(answers.map(cell)), law, answers.length, `items ${items}`);
      // How large the noise is, which a chi-square over many bins hardly sees.
      const size = (answer) => (answer === null ? 0 : Math.abs(answer - ({ 1: grid[0], 4: grid[1] }[items] ?? 0)));
      const moment = (power) => [...laws[items[0]]].reduce((sum, [answer, chance]) => sum + chance * size(answer) ** power, 0);
      const sum = answers.reduce((all, answer) => all + size(answer), 0);
      const spread = Math.sqrt((moment(2) - moment(1) ** 2) * answers.length);
      assert.ok(Math.abs(sum - moment(1) * answers.length) < 5.73 * spread, `size of ${items}`);
    }
    // Which items show together: independent, so every pattern has the product of its chances.
    const patterns = new Map();
    for (let pattern = 0; pattern < 64; pattern++) {
      const chance = laws.reduce((all, law, item) => {
        const nothing = law.get(null);
        return all * ((pattern >> item) & 1 ? 1 - nothing : nothing);
      }, 1);
      patterns.set(pattern, chance);
    }
    const pattern = (answers) => answers.reduce((bits, one, item) => bits | ((one !== null) << item), 0);
    fits(tally(told.map(pattern)), patterns, draws, "patterns");
    // And what two of them say: the signs of a rated and an unrated one, of two unrated ones.
    for (const [one, other] of [[1, 2], [0, 5]]) {
      const middle = (collection.least + collection.largest) / 2;
      const sign = (answer) => (answer === null ? "-" : answer > middle ? "high" : "low");
      const marginal = (law) => {
        const signs = new Map();
        law.forEach((chance, answer) => signs.set(sign(answer), (signs.get(sign(answer)) ?? 0) + chance));
        return [...signs];
      };
      const joint = marginal(laws[one]).flatMap(([a, first]) =>
        marginal(laws[other]).map(([b, second]) => [`${a} ${b}`, first * second]),
      );
      const seen = tally(told.map((answers) => `${sign(answers[one])} ${sign(answers[other])}`));
      fits(seen, new Map(joint), draws, `pair ${one} ${other}`);
    }
  });

test("what is beyond the cut lies at the cut", async () => {
  const catalog = catalogOf(4);
  const announced = announceLocal(catalog, { epsilon_thousandths: 50_000 });
  const collection = await readCollection(announced, catalog);
  assert.deepEqual([collection.least, collection.largest], [-4, 4]);
  const own = { items: Int32Array.of(0), values: Float64Array.of(5) };
  const { values } = readReport(drawReport(collection, own, random), collection);
  assert.deepEqual([...values], [2]); // an epsilon of 50 hides nothing
});

test("each hash bit is kept with its chance, by who has rated and by who has not", async () => {
  const catalog = catalogOf(200);
  const kept = { rated: 0, empty: 0 };
  const rounds = 2_000;
  const terms = await readOpen(announceOpen(catalog, { bits: 16, bit_epsilon_thousandths: 1_000 }), catalog);
  const hash = await terms.clusterHash();
  const own = { items: Int32Array.from({ length: 30 }, (_, i) => 5 * i), values: Float64Array.from({ length: 30 }, (_, i) => 1 + (i % 5)) };
  const ones = (number) => number.toString(2).replaceAll("0", "").length;
  for (let round = 0; round < rounds; round++) {
    const told = await new OpenClient(terms, {}, { random }).report(own);
    kept.rated += 16 - ones(told.hash ^ hash.value([...own.items], [...own.values].map((value) => value - 1)));
    const empty = await new OpenClient(terms, {}, { random }).report({ items: [], values: [] });
    kept.empty += ones(empty.hash); // nothing rated is all bits set
  }
  const chance = Math.E / (1 + Math.E);
  for (const [who, count] of Object.entries(kept))
    fits(new Map([["kept", count], ["turned", 16 * rounds - count]]), new Map([["kept", chance], ["turned", 1 - chance]]), 16 * rounds, who);
});

test("made-up ratings: uniform, or a rounded normal around the mean", () => {
  const uniform = tally([...drawCodes("uniform", 3, 4, 100_000, system)]);
  fits(uniform, new Map([0, 1, 2, 3, 4].map((code) => [code, 0.2])), 100_000, "uniform");
  for (const [mean, parts] of [[2.6, 4], [0.2, 4], [9, 9]]) {
    // Phi by its own integral, which is all the accuracy that a chi-square asks for.
    const density = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    const between = (low, high) => {
      const step = (high - low) / 2_000;
      return step * Array.from({ length: 2_000 }, (_, i) => density(low + (i + 0.5) * step)).reduce((a, b) => a + b);
    };
    const z = (edge) => (edge - mean) / (parts / 4);
    const law = new Map(
      Array.from({ length: parts + 1 }, (_, code) => [
        code, between(code ? z(code - 0.5) : -12, code < parts ? z(code + 0.5) : 12),
      ]),
    );
    fits(tally([...drawCodes("around-mean", mean, parts, 100_000, system)]), law, 100_000, `mean ${mean}`);
  }
});

test("places of fakes: all as likely, or in proportion to popularity with nobody left out", () => {
  const draws = 20_000;
  const sets = tally(Array.from({ length: draws }, () => choosePlaces([2, 3, 5, 7, 8], 2, null, random).join()));
  assert.equal(sets.size, 10);
  fits(sets, new Map([...sets.keys()].map((set) => [set, 0.1])), draws, "sets");
  const popularity = [0, 1, 2, 3, 4, 10];
  const first = tally(Array.from({ length: draws }, () => choosePlaces([0, 1, 2, 3, 4, 5], 1, popularity, random)[0]));
  const weights = popularity.map((one) => one + (0.1 * 20) / 6);
  fits(first, new Map(weights.map((weight, item) => [item, weight / 22])), draws, "popular");
  assert.deepEqual(choosePlaces([4, 9], 5, null, random), [4, 9]);
});

// Local reports: what a client remembers and refuses; frozen answers, epochs, limits.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

import { LocalClient, readCollection as readLocal, readReport } from "../../web/js/local_reports.js";
import { ontoScale, toBase64 } from "../../web/js/protocol.js";
import { systemRandom } from "../../web/js/random.js";
import { readScale } from "../../web/js/scale.js";
import { announceLocal, catalogOf, copy, fixedRandom, never, ownOf } from "./_protocols.mjs";

const MECHANISMS = ["rounded-response", "modified-laplace", "randomized-response"];
const RATINGS = ownOf({ 0: 5, 7: 2 });

const local = async (items, told) => readLocal(announceLocal(catalogOf(items), told), catalogOf(items));

test("the system's random bytes are there, all of them, and differ", () => {
  const random = systemRandom();
  const words = random.words(20_000); // more than one piece
  assert.ok(new Set(words).size === 20_000);
  assert.ok(words.slice(-100).every((word) => word !== 0n));
  assert.equal(random.uniforms(1_000).every((one) => one > 0 && one <= 1), true);
  const fixed = () => fixedRandom(Uint8Array.from({ length: 16 }, (_, i) => i + 1));
  assert.deepEqual([...fixed().words(1)], [0x0807060504030201n]);
  assert.equal(fixed().more(), 0x0102030405060708n);
  assert.deepEqual([...fixed().halfWords(2)], [0x04030201, 0x08070605]);
  assert.deepEqual([...fixed().uniforms(1)], [(Number(0x0807060504030201n >> 11n) + 1) * 2 ** -53]);
  assert.throws(() => fixed().words(3), /used up/);
});

test("nothing that is shipped draws from Math.random", () => {
  const folder = new URL("../../web/", import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 10);
  for (const name of files)
    assert.doesNotMatch(readFileSync(new URL(name, folder), "utf8"), /Math\s*\.\s*random\s*\(/, name);
});

for (const mechanism of MECHANISMS) {
  test(`the first answer of an epoch is frozen: ${mechanism}`, async () => {
    const [collection, memory] = [await local(300, { mechanism }), {}];
    const first = new LocalClient(collection, memory).report(RATINGS);
    for (const own of [RATINGS, ownOf({ 0: 1, 7: 2, 8: 4 }), ownOf({})]) {
      const later = new LocalClient(collection, copy(memory), { random: never });
      assert.equal(later.cost, 0);
      assert.deepEqual(later.report(own), first);
      assert.equal(later.spent.reports, 1);
    }
  });

  test(`a new epoch is drawn anew and costs again: ${mechanism}`, async () => {
    const memory = {};
    const clients = await Promise.all(
      [1, 2, 5].map(async (epoch) => new LocalClient(await local(300, { mechanism, epoch }), memory)),
    );
    assert.equal(clients[0].cost, 1);
    const reports = clients.map((client) => client.report(RATINGS));
    assert.deepEqual(reports.map((report) => report.epoch), [1, 2, 5]);
    assert.equal(new Set(reports.map((report) => report.reported)).size, 3);
    assert.equal(new Set(reports.map((report) => report.collection)).size, 1);
    assert.deepEqual([clients[2].cost, clients[2].spent.reports], [0, 3]);
    assert.throws(() => clients[1].report(RATINGS), /period 2 is over/);
    assert.equal(clients[2].spent.reports, 3);
  });
}

test("the running total goes over epochs and collections", async () => {
  const memory = {};
  assert.equal(new LocalClient(await local(40), memory).spent.perRating, 0);
  for (const epoch of [1, 2]) new LocalClient(await local(40, { epoch }), memory).report(RATINGS);
  const other = await local(50, { mechanism: MECHANISMS[1], epsilon_thousandths: 500 });
  assert.equal(new LocalClient(other, memory).spent.reports, 2);
  new LocalClient(other, memory).report(RATINGS);
  const now = new LocalClient(other, memory).spent;
  assert.ok(Math.abs(now.perRating - 2.5) < 1e-9 && now.perRating >= 2.5);
  assert.ok(Math.abs(now.perUser - 105) < 1e-9 && now.perUser >= 105);
  assert.deepEqual(now.sentences(), [
    "3 reports drawn: epsilon 2.5 for each rating, 105 for all of them together.",
  ]);
  const back = new LocalClient(await local(40, { epoch: 2 }), memory, { random: never });
  assert.equal(back.cost, 0);
  assert.equal(back.report(ownOf({})).epoch, 2);
});

test("a limit is remembered, and refuses before anything is drawn", async () => {
  const memory = {};
  new LocalClient(await local(40), memory, { limit: 1 }).report(RATINGS);
  const before = copy(memory);
  const next = await local(40, { epoch: 2 });
  const greedy = (options) => new LocalClient(next, memory, { ...options, random: never });
  for (const options of [{}, { limit: 1.5 }, {}])
    assert.throws(() => greedy(options).report(RATINGS), /epsilon of all to 2, past your limit of 1(\.5)?; nothing was drawn or sent/);
  assert.deepEqual(memory, { ...before, limit: 1.5 });
  // What was answered is repeated all the same.
  assert.equal(new LocalClient(await local(40), memory, { limit: 0.5 }).report(RATINGS).epoch, 1);
  for (const limit of [NaN, -1, "x"]) assert.throws(() => greedy({ limit }), /limit/);
  assert.equal(new LocalClient(next, memory, { limit: null }).report(RATINGS).epoch, 2);
  assert.throws(() => new LocalClient(next, { ...memory, reports: {}, limit: "x" }).report(RATINGS), /limit is damaged/);
});

test("whether a report is made does not depend on the ratings", async () => {
  const collection = await local(30);
  for (const own of [{}, { 1: 9 }, { 1: -4 }, { 1: 3.3 }])
    assert.equal(new LocalClient(collection, {}).report(ownOf(own)).epoch, 1);
  const memory = {};
  const client = new LocalClient(collection, memory, { random: never });
  for (const own of [{ items: [3], values: [NaN] }, { items: [3, 2], values: [1, 1] }, { items: [30], values: [1] }])
    assert.throws(() => client.report(own), /own ratings/);
  assert.deepEqual(memory, {});
});

test("a damaged memory is refused and nothing is drawn", async () => {
  const collection = await local(30);
  const whole = {};
  const message = new LocalClient(collection, whole).report(RATINGS);
  const damages = [
    (m) => (m.reports = 3),
    (m) => (m.reports = null),
    (m) => (m.reports[collection.digest] = 3),
    (m) => (m.reports[collection.digest].values = toBase64(Int16Array.of(30_000))),
    (m) => (m.reports[collection.digest].reported = "AAAA"),
    (m) => (m.reports[collection.digest].reported = toBase64(Uint8Array.of(0, 0, 0, 255))),
  ];
  for (const damage of damages) {
    const memory = copy(whole);
    damage(memory);
    assert.throws(() => new LocalClient(collection, memory, { random: never }).report(RATINGS), /damaged/);
  }
  for (const events of [3, [{}], [{ ...whole.events[0], epsilon: -1 }], [{ ...whole.events[0], count: 0.5 }]]) {
    const client = new LocalClient(await local(30, { epoch: 2 }), { ...whole, events }, { random: never });
    assert.throws(() => client.report(RATINGS), /damaged/);
  }
  assert.equal(readReport(message, collection).items.length, readReport(message, collection).ratings.length);
});

test("an announced collection of local reports is checked", async () => {
  const catalog = catalogOf(30);
  const wrongs = [
    [{ protocol: "open-clusters" }, /'protocol'/], [{ version: 2 }, /'version'/], [{ type: "report" }, /'type'/],
    [{ catalog: "0".repeat(64) }, /'catalog'/], [{ items: 31 }, /'items' does not follow/],
    [{ scale: "5..1" }, /scale/], [{ scale: "presence" }, /'scale'/], [{ scale: "1.0..5.0" }, /'scale'/],
    [{ mechanism: "none" }, /'mechanism'/], [{ epsilon_thousandths: 9 }, /10 to 50/],
    [{ epsilon_thousandths: 2000 }, /'least' does not follow/], [{ epoch: 0 }, /'epoch'/], [{ reach: 3 }, /'reach'/],
    [{ number: "int32" }, /'number'/], [{ digest: "0".repeat(64) }, /'digest'/], [{ further: 1 }, /does not have/],
    [{ digest: undefined }, /'digest'/],
    [{ scale: "1..5/continuous", mechanism: "randomized-response" }, /steps/],
  ];
  for (const [wrong, reason] of wrongs)
    await assert.rejects(readLocal({ ...announceLocal(catalog), ...wrong }, catalog), reason);
  for (const nothing of [null, 3, [], "text"]) await assert.rejects(readLocal(nothing, catalog), /object/);
});

test("scales are read as Python spells them, and ratings brought onto them", () => {
  assert.deepEqual(readScale("0.5..5/0.5"), { lo: 0.5, hi: 5, step: 0.5, presence: false });
  assert.deepEqual(readScale("-10..10/continuous"), { lo: -10, hi: 10, step: null, presence: false });
  assert.deepEqual(readScale("1..9/2.0"), { lo: 1, hi: 9, step: 2, presence: false });
  for (const text of ["1..5/1.0", "1..9/2", "1..5/0.3", "01..5", "1..", "..5", "1e3..2000", "1..5/x", "", "5..5", "0..1000000"])
    assert.throws(() => readScale(text), /scale/, text);
  const told = ontoScale(ownOf({ 1: 3.26, 2: -8, 4: 99 }), readScale("0.5..5/0.5"), 5);
  assert.deepEqual([...told.values], [3.5, 0.5, 5]);
});

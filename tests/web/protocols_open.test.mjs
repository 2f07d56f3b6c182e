// Open clusters: fakes that stay, floors, and what is remembered of them.
import assert from "node:assert/strict";
import test from "node:test";

import { OpenClient, readCollection, readUpload } from "../../web/js/open_clusters.js";
import { toldIn } from "../../web/js/protocol.js";
import { announceOpen, catalogOf, copy, never, ownOf } from "./_protocols.mjs";

const openOn = (catalog, told) => readCollection(announceOpen(catalog, told), catalog);
const open = (items, told) => openOn(catalogOf(items), told);

/** Somebody with so many ratings of every n-th item. */
const person = (count, every, shift = 0) =>
  ownOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [i * every, 1 + ((i * 7 + shift) % 5)])));
const sentBy = async (collection, memory, own, options) => {
  const upload = readUpload(await new OpenClient(collection, memory, options).report(own), collection);
  return new Map(Array.from(upload.items, (item, i) => [item, upload.codes[i]]));
};
const part = (own, from, to) => ({ items: own.items.slice(from, to), values: own.values.slice(from, to) });
const historyOf = (memory) => memory.obfuscation.history;
/** Items by their names, which a history has places of. */
const namesOf = (memory, column) => historyOf(memory)[column].map((place) => Number(memory.obfuscation.names[place][0]));

test("an upload has the true ratings among as many fakes, and the true hash", async () => {
  const [collection, memory, own] = [await open(1_000), {}, person(100, 9)];
  const client = new OpenClient(collection, memory);
  const upload = readUpload(await client.report(own), collection);
  assert.deepEqual([upload.kind, upload.items.length], ["obfuscated", 200]);
  const codes = Array.from(own.values, (value) => value - 1);
  const found = new Map(Array.from(upload.items, (item, i) => [item, upload.codes[i]]));
  own.items.forEach((item, i) => assert.equal(found.get(item), codes[i]));
  assert.equal(upload.hash, (await collection.clusterHash()).value([...own.items], codes));
  const { sentences, ...standing } = client.standing();
  assert.deepEqual(standing, { true: 100, takenBack: 0, fakes: 100, suppressed: 0, share: 0.5, late: 0, hashEpsilon: 0 });
  assert.equal(sentences()[1], "Of 200 items that look rated, 100 are.");
  assert.match(sentences()[2], /By counting alone .* 50% of the time/);
});

test("fakes persist, few new ratings wait, and later batches keep the ratio", async () => {
  for (const percent of [50, 100, 200]) {
    const [collection, memory, own] = [await open(3_000, { fake_percent: percent, least: 500 }), {}, person(300, 9)];
    let before = await sentBy(collection, memory, part(own, 0, 20), { batch: 1 });
    assert.equal(before.size, 500); // the floor's
    const early = await sentBy(collection, copy(memory), part(own, 0, 24), { random: never });
    assert.deepEqual(early, before); // four more are no batch of five
    const client = new OpenClient(collection, copy(memory));
    const waits = (to) => Object.values(client.waits(part(own, 0, to)));
    assert.deepEqual([20, 24, 25, 30].map(waits), [[0, 5], [4, 1], [5, 0], [10, 0]]);
    assert.deepEqual(waits(18), [0, 5]); // what is taken back is no news
    for (const [from, to] of [[20, 60], [60, 61], [61, 160], [160, 300]]) {
      const now = await sentBy(collection, memory, part(own, 0, to), { batch: 1 });
      before.forEach((code, item) => assert.equal(now.get(item), code));
      const joined = [...now.keys()].filter((item) => !before.has(item));
      const fresh = new Set(part(own, from, to).items);
      const rated = joined.filter((item) => fresh.has(item)).length;
      assert.ok(joined.length - rated >= (percent / 100) * rated, `${joined.length} with ${rated}`);
      const met = [...fresh].filter((item) => before.has(item)).length; // each is one fake less
      assert.ok(joined.length - rated <= (percent / 100) * fresh.size + met + 1);
      before = now;
    }
  }
});

test("a fake that is rated later stays as it was; what is taken back stays as a fake", async () => {
  const [collection, memory, own] = [await open(1_000), {}, person(50, 9)];
  const first = await sentBy(collection, memory, own, { batch: 1 });
  const fake = [...first.keys()].findLast((item) => !own.items.includes(item));
  const both = ownOf({ ...Object.fromEntries([...own.items].map((item, i) => [item, own.values[i]])), [fake]: 1 + ((first.get(fake) + 1) % 5) });
  const second = await sentBy(collection, memory, both, { batch: 1 });
  assert.equal(second.get(fake), first.get(fake));
  assert.equal(second.size, first.size + 2); // one is true now: a fake for it, and one in its place
  const third = await sentBy(collection, memory, part(both, 10), { batch: 1 });
  assert.deepEqual(third, second);
  const { true: rated, takenBack, fakes } = new OpenClient(collection, memory).standing();
  assert.deepEqual([rated + takenBack + fakes, rated, takenBack], [second.size, 41, 10]);
});

test("what was sent stays, whatever its rating becomes", async () => {
  const [collection, memory, own] = [await open(1_000, { fake_percent: 200 }), {}, person(50, 9)];
  const first = await sentBy(collection, memory, own, { batch: 1 });
  const values = own.values.map((value) => (value % 5) + 1);
  assert.deepEqual(await sentBy(collection, copy(memory), { ...own, values }, { batch: 1, random: never }), first);
  const more = person(60, 9, 3);
  const second = await sentBy(collection, memory, more, { batch: 1 });
  first.forEach((code, item) => assert.equal(second.get(item), code));
  own.items.forEach((item, i) => assert.equal(second.get(item), own.values[i] - 1));
  assert.ok(second.size >= first.size + 30);
});

test("what is taken back is known at home at once, and sends nothing", async () => {
  const [collection, memory, own] = [await open(1_000), {}, person(50, 9)];
  const first = await new OpenClient(collection, memory).report(own);
  const fewer = new OpenClient(collection, memory, { random: never });
  assert.deepEqual(await fewer.report(part(own, 8)), first);
  const { true: rated, takenBack, share } = fewer.standing();
  assert.deepEqual([rated, takenBack, share, memory.obfuscation.turn], [42, 8, 0.5, 1]);
  assert.match(fewer.standing().sentences()[1], /42 are\. 8 more were when they were sent, and stay\./);
});

test("a share is suppressed for good, and faked like any other item", async () => {
  const [collection, memory, own] = [await open(2_000, { suppress_percent: 50, least: 0 }), {}, person(1_000, 2)];
  const first = await sentBy(collection, memory, part(own, 0, 900), { batch: 1 });
  const hidden = namesOf(memory, "suppressed");
  assert.ok(Math.abs(hidden.length - 450) < 6 * 15);
  await sentBy(collection, memory, own, { batch: 1 });
  const [suppressed, shown] = [namesOf(memory, "suppressed"), namesOf(memory, "true_items")];
  assert.ok(hidden.every((item) => suppressed.includes(item) && !shown.includes(item)));
  assert.ok(hidden.some((item) => first.has(item)));
  const all = await sentBy(await open(100, { suppress_percent: 10 }), {}, person(70, 1));
  assert.equal(all.size, 100); // where fakes are everywhere nothing absent is rated
});

test("other terms draw no new fakes; those that ask for more items get late ones", async () => {
  const own = person(100, 9);
  for (const changed of [{ epoch: 1 }, { beacon: "new" }, { bits: 4 }, { fakes: "uniform" }]) {
    const memory = {};
    const first = await sentBy(await open(1_000), memory, own);
    assert.deepEqual(await sentBy(await open(1_000, changed), memory, own, { random: never }), first);
  }
  const memory = {};
  const first = await sentBy(await open(1_000), memory, own);
  // More for every hundred of the next ones: those that were sent have theirs.
  assert.deepEqual(await sentBy(await open(1_000, { fake_percent: 200 }), memory, own, { random: never }), first);
  const asking = await open(1_000, { least: 500 });
  const floor = await sentBy(asking, memory, own);
  assert.deepEqual([first.size, floor.size], [200, 500]);
  first.forEach((code, item) => assert.equal(floor.get(item), code));
  const { late, fakes, share, sentences } = new OpenClient(asking, memory).standing();
  assert.deepEqual([late, fakes, share], [300, 400, 0.5]);
  assert.match(sentences()[1], /300 of the others came by themselves, .* can be told to be made up\./);
});

test("fakes go along to another catalogue, and come back", async () => {
  const [here, there] = [catalogOf(600), catalogOf(600, 200)]; // 200 and 799 are the first's and last's names
  const [memory, own] = [{}, person(60, 9)];
  const first = await sentBy(await openOn(here), memory, own);
  const fewer = { items: own.items.filter((item) => item >= 200), values: own.values.filter((_, i) => own.items[i] >= 200) };
  const moved = { ...fewer, items: fewer.items.map((item) => item - 200) };
  const other = await sentBy(await openOn(there), memory, moved);
  const shared = [...first].filter(([item]) => item >= 200);
  for (const [item, code] of shared) assert.equal(other.get(item - 200), code);
  // Some may have come late, none in place of another; what the other catalogue lacks is as it was.
  assert.equal(other.size, Math.max(shared.length, 80));
  const back = await sentBy(await openOn(here), memory, own, { random: never });
  for (const [item, code] of first) assert.equal(back.get(item), code);
  assert.deepEqual([...back.keys()].filter((item) => !first.has(item) && item < 200), []);
  assert.equal(new Set(memory.obfuscation.names.map(([id]) => id)).size, memory.obfuscation.names.length);
});

test("another scale, or another item by a sent one's name, is refused and nothing is changed", async () => {
  const titles = Array.from({ length: 300 }, (_, i) => `title ${i}`);
  const [catalog, memory, own] = [catalogOf(300, 0, titles), {}, person(30, 9)];
  await sentBy(await openOn(catalog, { suppress_percent: 50 }), memory, own);
  const before = copy(memory);
  const refuses = async (on, told, reason) => {
    const client = new OpenClient(await openOn(on, told), memory, { random: never });
    await assert.rejects(client.report(own), reason);
    assert.throws(() => client.standing(), reason);
    assert.deepEqual(memory, before);
  };
  await refuses(catalog, { scale: "0.5..5/0.5" }, /sent on the scale 1..5; on 0.5..5\/0.5/);
  const [sent, hidden] = [namesOf(memory, "true_items")[0], namesOf(memory, "suppressed")];
  const renamed = (item) => catalogOf(300, 0, titles.with(item, "another"));
  await refuses(renamed(sent), {}, /was sent, and this catalogue has another item/);
  // What was not sent must not be known by a refusal.
  const silent = hidden.find((item) => !namesOf(memory, "fake_items").includes(item));
  const now = await sentBy(await openOn(renamed(silent)), memory, own, { batch: 5 });
  assert.equal(now.has(silent), false);
});

test("a client has floors of its own", async () => {
  const weak = await open(1_000, { fake_percent: 0, least: 0 });
  assert.equal((await sentBy(weak, {}, person(200, 5))).size, 300);
  assert.equal((await sentBy(weak, {}, person(5, 5))).size, 80);
  assert.equal((await sentBy(await open(30, { bits: 4, fake_percent: 0, least: 0 }), {}, person(1, 1))).size, 30);
  const refuses = (options, reason) => assert.throws(() => new OpenClient(weak, {}, options), reason);
  refuses({ batch: 0 }, /at least 1/);
  const popular = await open(1_000, { fakes: "popular" });
  for (const popularity of [undefined, new Float64Array(1_000).fill(NaN), new Float64Array(9)])
    assert.throws(() => new OpenClient(popular, {}, { popularity }), /popularity/);
});

test("same-hash fakes keep the hash of the true ratings", async () => {
  let lucky = 0;
  for (let shift = 0; shift < 8; shift++) {
    const own = person(60, 7, shift);
    for (const bits of [4, 8, 16]) {
      const kept = await open(1_000, { bits, fakes: "same-hash", beacon: String(shift) });
      const loose = await open(1_000, { bits, beacon: String(shift) });
      const hash = await kept.clusterHash();
      const wanted = hash.value([...own.items], [...own.values]);
      const value = (sent) => hash.value([...sent.keys()], [...sent.values()]);
      assert.equal(value(await sentBy(kept, {}, own)), wanted);
      lucky += value(await sentBy(loose, {}, own)) === wanted;
    }
  }
  assert.ok(lucky < 20);
});

test("the hash of what is sent, or of what is true", async () => {
  const own = person(40, 9);
  const codes = Array.from(own.values, (value) => value - 1);
  const obfuscated = await open(1_000, { hash_on: "obfuscated" });
  const upload = readUpload(await new OpenClient(obfuscated, {}).report(own), obfuscated);
  assert.equal(upload.hash, (await obfuscated.clusterHash()).value([...upload.items], upload.codes));
  const plain = await open(1_000);
  const value = (await plain.clusterHash()).value([...own.items], codes);
  const client = new OpenClient(plain, {});
  assert.deepEqual(client.standing().sentences(), ["No obfuscated ratings were sent."]);
  const shown = readUpload(await client.report(own), plain);
  assert.deepEqual([shown.kind, shown.hash], ["obfuscated", value]);
});

test("randomized bits are answered once an epoch and counted; nothing rated is answered too", async () => {
  const memory = {};
  const told = { bit_epsilon_thousandths: 250 };
  const collection = await open(300, told);
  const asked = new OpenClient(collection, memory);
  assert.equal(asked.cost, 2);
  const first = await asked.report(person(50, 3));
  assert.equal(asked.cost, 0);
  for (const own of [person(50, 3), person(20, 3), ownOf({})])
    assert.deepEqual((await new OpenClient(collection, structuredClone(memory), { random: never }).report(own)).hash, first.hash);
  // Other terms of the same hash ask for nothing new.
  for (const others of [{ least: 81 }, { fakes: "uniform" }]) {
    const again = new OpenClient(await open(300, { ...told, ...others }), memory, { random: never });
    assert.deepEqual([again.cost, (await again.report(person(50, 3))).hash], [0, first.hash]);
  }
  const later = new OpenClient(await open(300, { ...told, epoch: 1 }), memory);
  await later.report(person(50, 3));
  assert.equal(later.standing().hashEpsilon, 4);
  assert.match(later.standing().sentences().at(-1), /epsilon of 4 in all/);
  const dear = new OpenClient(await open(300, { bits: 16, bit_epsilon_thousandths: 123_456 }), {});
  const upload = await dear.report(person(50, 3));
  assert.match(dear.standing().sentences().at(-1), /epsilon of 1975\.3 in all/); // as Python's :g
  assert.deepEqual(dear.drawn, upload);
  assert.equal((await sentBy(collection, {}, ownOf({}))).size, 80);
  await assert.rejects(new OpenClient(await open(300), {}, { random: never }).report(ownOf({})), /nothing to report/);
});

test("a limit on hash bits is remembered, and refuses before anything is drawn", async () => {
  const memory = {};
  const answer = async (epoch, options) =>
    new OpenClient(await open(300, { bit_epsilon_thousandths: 250, epoch }), memory, options).report(person(50, 3));
  const first = await answer(0, { limit: 3 });
  for (const options of [{ limit: 3.5 }, {}])
    await assert.rejects(answer(1, { ...options, random: never }), /epsilon of all to 4, past your limit of 3\.5; nothing was drawn/);
  assert.deepEqual([memory.limit, Object.keys(memory.answers).length], [3.5, 1]);
  assert.deepEqual(await answer(0, { random: never }), first); // what was answered is repeated
  assert.deepEqual((await answer(1, { limit: null })).ratings, "obfuscated");
  assert.equal("limit" in memory, false);
  assert.throws(() => new OpenClient({}, {}, { limit: -1 }), /limit/);
  memory.limit = "x";
  await assert.rejects(answer(2, { random: never }), /limit is damaged/);
});

test("a limit covers what other protocols have cost as well", async () => {
  const collection = await open(300, { bit_epsilon_thousandths: 250 });
  const told = toldIn({ events: [{ epsilon: 1 }, { epsilon: 0.5 }], answers: { a: { epsilon: 0.25 } } });
  assert.equal(told, 1.75);
  assert.equal(toldIn({}), 0);
  const refused = new OpenClient(collection, {}, { limit: 3.5, elsewhere: told });
  await assert.rejects(refused.report(person(50, 3)), /epsilon of all to 3\.75, past your limit of 3\.5/);
  const memory = {};
  await new OpenClient(collection, memory, { limit: 3.75, elsewhere: told }).report(person(50, 3));
  assert.equal(toldIn(memory), 2);
});

test("one is, and several are", async () => {
  const [collection, memory] = [await open(300), {}];
  const said = (own) => new OpenClient(collection, memory).standing(own).sentences()[1];
  await new OpenClient(collection, memory).report(person(1, 3));
  assert.equal(said(), "Of 80 items that look rated, 1 is.");
  await new OpenClient(collection, memory).report(ownOf({}), {}).catch(() => {});
  await new OpenClient(collection, memory, { batch: 1 }).report(ownOf({ 9: 4 }));
  assert.match(said(), /rated, 1 is\. 1 more was when it was sent, and stays\.$/);
});

test("two reports at once give one answer, and a damaged memory is refused", async () => {
  const [collection, memory] = [await open(300), {}];
  const both = await Promise.all([1, 2].map(() => new OpenClient(collection, memory).report(person(50, 3))));
  assert.deepEqual(both[0], both[1]);
  for (const damage of [
    (history) => delete history.fake_items,
    (history) => history.fake_items.pop(),
    (history) => (history.met = [-1]),
    (history) => (history.true_codes[0] = "x"),
    (history) => (history.late = [10_000]),
    (_, kept) => (kept.names = 3),
    (_, kept) => (kept.names[0] = ["7"]),
    (_, kept) => (kept.turn = "x"),
    (_, kept) => delete kept.history,
  ]) {
    const damaged = copy(memory);
    damage(historyOf(damaged), damaged.obfuscation);
    const before = copy(damaged);
    await assert.rejects(new OpenClient(collection, damaged, { random: never }).report(person(60, 3)), /no usable history/);
    assert.deepEqual(damaged, before);
  }
});

test("an announced collection of open clusters is checked", async () => {
  const catalog = catalogOf(100);
  const wrongs = [
    [{ protocol: "local-reports" }, /'protocol'/], [{ version: 2 }, /'version'/], [{ items: 99 }, /'catalog'/],
    [{ catalog: "0".repeat(64) }, /'catalog'/], [{ scale: "presence" }, /'scale'/], [{ bits: 17 }, /'bits'/],
    [{ hash: "minhash" }, /'hash'/], [{ beacon: "a\nb" }, /'beacon'/], [{ beacon: "x".repeat(201) }, /'beacon'/],
    [{ fakes: "none" }, /'fakes'/], [{ fake_percent: 1001 }, /'fake_percent'/], [{ suppress_percent: 91 }, /'suppress_percent'/],
    [{ least: 101 }, /'least'/], [{ epoch: -1 }, /'epoch'/], [{ bit_epsilon_thousandths: 0.5 }, /'bit_epsilon/],
    [{ hash_on: "obfuscated", bit_epsilon_thousandths: 1 }, /needs no noise/], [{ further: 1 }, /does not have/],
    [{ beacon: null }, /'beacon' should be a text/], [{ epoch: undefined }, /'epoch'/],
  ];
  for (const [wrong, reason] of wrongs)
    await assert.rejects(readCollection({ ...announceOpen(catalog), ...wrong }, catalog), reason);
});

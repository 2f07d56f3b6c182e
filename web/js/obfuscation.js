/**
 * Ratings among made-up ones, as src/discreet/protocols/obfuscation/client. Nothing about a change may
 * tell the true from the made-up: what was sent stays as it was, whatever is rated later; each batch of
 * new ratings brings new fakes at the same ratio; a rating that is taken back stays as a fake.
 *
 * @typedef {Record<string, number[]>} History  by NAMES: items and codes beside them; met: fakes that were
 *   rated since; suppressed: rated, never sent; taken_back: fakes that were true once; late: fakes that
 *   came without a batch, which whoever saw both uploads can tell
 * @typedef {{fakes: string, percent: number, suppress: number, popularity: ArrayLike<number> | null,
 *   least: number, size: number, parts: number}} Terms  size: the catalogue's; parts: the largest code
 * @typedef {{items: number[], codes: number[]}} Coded
 */
import { drawBelow } from "./random.js";
import { clamp, roundHalfEven } from "./scale.js";

const CODES = { true_codes: "true_items", fake_codes: "fake_items" };
const NAMES = [...Object.entries(CODES).flatMap(([codes, items]) => [items, codes]), "met", "suppressed", "taken_back", "late"];
const NOTHING = Object.fromEntries(NAMES.map((name) => [name, []]));
const TRIES = 256;

const rising = (items) => [...new Set(items)].sort((one, other) => one - other);
function without(items, others) {
  const left = new Set(others);
  return items.filter((item) => !left.has(item));
}
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const mapOf = (items, codes) => new Map(items.map((item, i) => [item, codes[i]]));
const trueOf = (history) => mapOf(history.true_items, history.true_codes);
const fakesOf = (history) => mapOf(history.fake_items, history.fake_codes);

/** @returns {Coded} */
function coded(ratings) {
  const items = rising(ratings.keys());
  return { items, codes: items.map((item) => ratings.get(item)) };
}

/** Everything that looks rated. */
const sentOf = (history) => coded(new Map([...trueOf(history), ...fakesOf(history)]));

/** The same of items by other numbers, `places[item]`, without those that have none. */
function moved(history, places) {
  const column = (name) =>
    history[CODES[name] ?? name]
      .map((item, i) => [places[item], name in CODES ? history[name][i] : places[item]])
      .filter(([place]) => place >= 0)
      .sort(([one], [other]) => one - other)
      .map(([, told]) => told);
  return Object.fromEntries(NAMES.map((name) => [name, column(name)]));
}

function isUsable(turn, names, history) {
  const wholes = (list, below) => list.every((one) => Number.isInteger(one) && one >= 0 && one < below);
  const texts = (pair) => pair?.length === 2 && pair.every((text) => typeof text === "string");
  return (
    Number.isInteger(turn) && Array.isArray(names) && names.every(texts) &&
    NAMES.every((name) => Array.isArray(history?.[name]) && wholes(history[name], name in CODES ? 256 : names.length)) &&
    Object.entries(CODES).every(([codes, items]) => history[codes].length === history[items].length)
  );
}

/**
 * What a memory has of a catalogue's items: by their names, so that it outlives the catalogue. Fakes that
 * were drawn anew for another one would tell what is true.
 * @param {Record<string, any>} memory
 * @param {{listed: {ids: string[], titles: string[], find: Function}, spelling: string}} collection
 * @returns {{history: History, keep: (history: History) => object}} keep: what is remembered instead
 * @throws {Error} It is damaged, of another scale, or an item that was sent is another one here.
 */
function recall(memory, { listed, spelling }) {
  const { turn = 0, names = [], history: whole = NOTHING, scale } = memory.obfuscation ?? {};
  if (!isUsable(turn, names, whole)) throw new Error("the client's memory has no usable history of uploads");
  if (turn && scale !== spelling)
    throw new Error(`ratings were sent on the scale ${scale}; on ${spelling} the true ones could be told from the made-up ones`);
  const sent = new Set([...whole.true_items, ...whole.fake_items]);
  const places = names.map(([id, title], at) => {
    const place = listed.find(id);
    if (place === listed.find(title)) return place ?? -1;
    // What was not sent must not be known by this: it is left out in silence.
    if (!sent.has(at)) return -1;
    throw new Error(`'${title}' (${id}) was sent, and this catalogue has another item by its id or title`);
  });
  const keep = (history) => {
    const [numbers, all] = [[], [...names]];
    places.forEach((place, at) => place >= 0 && (numbers[place] = at));
    for (const item of rising([...history.true_items, ...history.fake_items, ...history.suppressed]))
      numbers[item] ??= all.push([listed.ids[item], listed.titles[item]]) - 1;
    const elsewhere = moved(whole, places.map((place, at) => (place < 0 ? at : -1)));
    const here = moved(history, numbers);
    const both = NAMES.map((name) => [name, [...elsewhere[name], ...here[name]]]);
    return { scale: spelling, names: all, history: Object.fromEntries(both), turn: turn + 1 };
  };
  return { history: moved(whole, places), keep };
}

/**
 * What to send once these are the person's ratings: the same as before until a batch of them is new, or
 * more items are asked for.
 * @param {Record<string, any>} memory is not changed
 * @param {Coded} own @param {Terms} terms @param {number} batch
 * @param {{vectors: Int32Array[], value: Function}} hash from `makeHash`
 * @returns {{sent: Coded, kept: {turn: number}}} kept: to be remembered as memory.obfuscation
 */
export function obfuscate(memory, collection, own, terms, batch, hash, random) {
  const { history: before, keep } = recall(memory, collection);
  const isFirst = !sentOf(before).items.length;
  const news = without(own.items, [...before.true_items, ...before.met, ...before.suppressed]).length;
  let history = before;
  if (isFirst || news >= batch) {
    const { joined, added } = advance(before, own, terms, random);
    // By the batch, not by all there is: else every item that joins later would be a true one.
    const wanted = Math.max(Math.ceil((added * terms.percent) / 100), isFirst ? lacks(joined, terms) : 0);
    history = withFakes(joined, wanted, own, terms, hash, random);
  }
  const short = lacks(history, terms);
  if (short) {
    const filled = withFakes(history, short, own, terms, hash, random);
    history = { ...filled, late: rising([...history.late, ...without(filled.fake_items, history.fake_items)]) };
  }
  return { sent: sentOf(history), kept: history === before ? memory.obfuscation : keep(history) };
}

/** How many more items have to look rated, as far as there are any left. */
function lacks(history, { least, size }) {
  const sent = history.true_items.length + history.fake_items.length;
  return Math.max(Math.min(least, size) - sent, 0);
}

/** New ratings join; `added`: how many more are true of what looks rated. */
function advance(then, own, { suppress }, random) {
  const [now, kept, fakes] = [mapOf(own.items, own.codes), trueOf(then), fakesOf(then)];
  const [gone, suppressed] = [without(then.true_items, own.items), new Set(then.suppressed)];
  for (const item of gone) {
    fakes.set(item, kept.get(item));
    kept.delete(item);
  }
  const met = own.items.filter((item) => fakes.has(item) && !suppressed.has(item));
  const fresh = own.items.filter((item) => ![kept, fakes, suppressed].some((taken) => taken.has(item)));
  const hidden = drawBelow(100, fresh.length, random).map((place) => place < suppress);
  fresh.forEach((item, i) => (hidden[i] ? suppressed.add(item) : kept.set(item, now.get(item))));
  const [shown, made] = [coded(kept), coded(fakes)];
  const joined = {
    ...{ true_items: shown.items, true_codes: shown.codes, fake_items: made.items, fake_codes: made.codes },
    ...{ met, suppressed: rising(suppressed), taken_back: rising([...then.taken_back, ...gone]), late: then.late },
  };
  return { joined, added: fresh.length - sum(hidden) + without(met, then.met).length };
}

/** So many more fakes, on items that are not sent; fewer if none are left. */
function withFakes(history, count, own, { fakes: kind, popularity, size, parts }, hash, random) {
  const [sent, fakes] = [sentOf(history), fakesOf(history)];
  const mean = own.codes.length ? sum(own.codes) / own.codes.length : parts / 2;
  const taken = new Set(sent.items);
  const free = [...Array(size).keys()].filter((item) => !taken.has(item));
  const places = choosePlaces(free, count, kind === "popular" && popularity, random);
  const drawn =
    kind === "same-hash" && places.length
      ? keepHash(hash, sent, places, hash.value(own.items, own.codes), mean, parts, random)
      : drawCodes(kind, mean, parts, places.length, random);
  places.forEach((item, i) => fakes.set(item, drawn[i]));
  const { items, codes } = coded(fakes);
  return { ...history, fake_items: items, fake_codes: codes };
}

/** So many of some items, rising: all as likely, or in proportion to popularity. */
export function choosePlaces(candidates, count, popularity, random) {
  const keys = random.uniforms(candidates.length);
  if (popularity) {
    // The smallest of exponential waiting times is an item with its share of all the rates.
    const floor = (0.1 * sum(Array.from(popularity))) / popularity.length + 1e-300;
    candidates.forEach((item, i) => (keys[i] = -Math.log(keys[i]) / (popularity[item] + floor)));
  }
  const order = [...keys.keys()].sort((one, other) => keys[one] - keys[other]);
  return rising(order.slice(0, count).map((i) => candidates[i]));
}

/** Made-up ratings for somebody whose mean code is `mean`. */
export function drawCodes(kind, mean, parts, count, random) {
  if (kind === "uniform") return Uint8Array.from(drawBelow(parts + 1, count, random));
  const [radii, turns] = [random.uniforms(count), random.uniforms(count)];
  return Uint8Array.from(radii, (radius, i) => {
    const normal = Math.sqrt(-2 * Math.log(radius)) * Math.cos(2 * Math.PI * turns[i]);
    return clamp(Math.floor(mean + (parts / 4) * normal + 0.5), 0, parts);
  });
}

/**
 * Codes of new fakes so that everything that is sent has a wanted hash: the first of many draws that
 * does, else the nearest one, moved by one level at a time, or as close as they come.
 */
function keepHash({ vectors }, sent, places, wanted, mean, parts, random) {
  const [m, n] = [places.length, sent.items.length + places.length];
  const draws = drawCodes("around-mean", mean, parts, TRIES * m, random);
  const columns = vectors.map((q) => places.map((item) => q[item]));
  const old = vectors.map((q) => sum(sent.items.map((item, i) => q[item] * sent.codes[i])));
  const plain = vectors.map((q, b) => sum(sent.items.map((item) => q[item])) + sum(columns[b]));
  const made = (codes, products, total) => {
    const margins = products.map((product, b) => n * product - total * plain[b]);
    const off = sum(margins.map((margin, b) => Math.max((wanted >> b) & 1 ? -margin : margin + 1, 0)));
    return { codes, products, total, off }; // off: how far on the wrong side of the hash's planes
  };
  const nearer = (one, other) => (other.off < one.off ? other : one);
  const tries = Array.from({ length: TRIES }, (_, t) => {
    const codes = draws.subarray(t * m, t * m + m);
    const products = columns.map((column, b) => column.reduce((all, q, j) => all + q * codes[j], old[b]));
    return made(codes, products, sum(codes) + sum(sent.codes));
  });
  let best = tries.reduce(nearer);
  for (let last; best.off && best !== last; ) {
    last = best;
    for (const step of [1, -1])
      for (let j = 0; j < m; j++) {
        if (last.codes[j] === (step > 0 ? parts : 0)) continue;
        const products = last.products.map((product, b) => product + step * columns[b][j]);
        best = nearer(best, { ...made(last.codes, products, last.total + step), j, step });
      }
    if (best !== last) best.codes = last.codes.map((code, j) => (j === best.j ? code + best.step : code));
  }
  return best.codes;
}

/**
 * How the person stands, for their own eyes: how many items that look rated are (`true`), were once
 * (`takenBack`), never were (`fakes`) and can be told to be made up (`late`); rated ones that do not
 * (`suppressed`); the chance that an item was ever rated, by counting (`share`).
 */
export function standingOf(memory, collection) {
  const { true_items: sent, fake_items: made, met, suppressed, taken_back: back, late } = recall(memory, collection).history;
  const hidden = without(suppressed, made).length; // one that a fake fell on is rated and looks it
  const rated = sent.length + met.length + suppressed.length - hidden;
  const [takenBack, known] = [without(back, met).length, without(late, met).length];
  const total = sent.length + made.length;
  const share = (rated + takenBack) / (total - known || 1);
  const show = (number) => number.toLocaleString("en");
  const stay = takenBack ? ` ${show(takenBack)} more were when they were sent, and stay.` : "";
  const others = known
    ? ` ${show(known)} of the others came by themselves, because more items were asked for, and can be told to be made up.`
    : "";
  const sentences = total
    ? [
        "This is plausible deniability, not differential privacy: your true ratings are in what was sent, among made-up ones.",
        `Of ${show(total)} items that look rated, ${show(rated)} are.${stay}${others}`,
        `By counting alone a guess that you rated one of them is right ${roundHalfEven(100 * share)}% of the time, and more often for popular items.`,
      ]
    : ["No obfuscated ratings were sent."];
  const fakes = total - rated - takenBack;
  return { true: rated, takenBack, fakes, suppressed: hidden, share, late: known, sentences };
}

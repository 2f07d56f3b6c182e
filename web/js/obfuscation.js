/**
 * Ratings among made-up ones, as src/discreet/protocols/clusters_common/client. Nothing about a change may
 * tell the true from the made-up: what was sent stays as it was, whatever is rated later; each batch of
 * new ratings brings new fakes at the same ratio; a rating that is taken back stays as a fake.
 *
 * A history is a map from an item to what is known of it, by ITEMS: the code of a true or a made-up rating
 * that was sent; met: the fake was rated since; suppressed: it is rated and never sent; taken_back: the fake
 * was true once; late: it came without a batch, and whoever saw both uploads can tell.
 * @typedef {{items: number[], codes: number[]}} Coded
 * @typedef {{terms: any, batch: number, hash: any, keepHash: Function | false, random: any}} How  terms as
 *   open_clusters.js makes them, hash from `makeHash`, keepHash of same_hash.js if terms ask for it
 */
import { drawBelow } from "./random.js";
import { clamp, roundHalfEven } from "./scale.js";

const CODES = { true_items: "true_codes", fake_items: "fake_codes" };
const ITEMS = [...Object.keys(CODES), "met", "suppressed", "taken_back", "late"];
const NAMES = ITEMS.flatMap((name) => (CODES[name] ? [name, CODES[name]] : [name]));

const rising = (items) => [...items].sort((one, other) => one - other);
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const codeOf = (known) => known?.true_items ?? known?.fake_items;

/** Everything that looks rated. @returns {Coded} */
function sentOf(history) {
  const items = rising(history.keys()).filter((item) => codeOf(history.get(item)) !== undefined);
  return { items, codes: items.map((item) => codeOf(history.get(item))) };
}

/** A history from its columns, as memories keep them. */
function fromColumns(columns) {
  const history = new Map();
  for (const name of ITEMS)
    columns[name].forEach((item, i) =>
      history.set(item, { ...history.get(item), [name]: columns[CODES[name]]?.[i] ?? true }),
    );
  return history;
}

function toColumns(...histories) {
  const columns = Object.fromEntries(NAMES.map((name) => [name, []]));
  for (const history of histories)
    for (const item of rising(history.keys()))
      for (const [name, told] of Object.entries(history.get(item))) {
        columns[name].push(item);
        columns[CODES[name]]?.push(told);
      }
  return columns;
}

function isUsable(turn, names, columns) {
  const texts = (pair) => pair?.length === 2 && pair.every((text) => typeof text === "string");
  if (!Number.isInteger(turn) || !Array.isArray(names) || !names.every(texts)) return false;
  const wholes = (list, below) =>
    Array.isArray(list) && list.every((one) => Number.isInteger(one) && one >= 0 && one < below);
  return ITEMS.every((name) => {
    const [items, codes] = [columns?.[name], columns?.[CODES[name] ?? name]];
    return wholes(items, names.length) && wholes(codes, CODES[name] ? 256 : Infinity) && items.length === codes.length;
  });
}

/**
 * What a memory has of a catalogue's items: by their names, so that it outlives the catalogue. Fakes that
 * were drawn anew for another one would tell what is true.
 * @returns {{turn: number, history: Map<number, any>, keep: Function}} keep(history, turn): what is to be
 *   remembered instead
 * @throws {Error} It is damaged, of another scale, or an item that was sent is another one here.
 */
function recall(memory, { listed, spelling }) {
  const { turn = 0, names = [], scale, history: columns = turn ? null : toColumns() } = memory.obfuscation ?? {};
  if (!isUsable(turn, names, columns)) throw new Error("the client's memory has no usable history of uploads");
  if (turn && scale !== spelling)
    throw new Error(`ratings were sent on the scale ${scale}; on ${spelling} the true ones could be told from the made-up ones`);
  const [whole, history, elsewhere, numbers] = [fromColumns(columns), new Map(), new Map(), []];
  names.forEach(([id, title], at) => {
    const [place, known] = [listed.find(id), whole.get(at)];
    const isSame = place === listed.find(title);
    // What was not sent must not be known by this: it is left out in silence.
    if (!isSame && codeOf(known) !== undefined)
      throw new Error(`'${title}' (${id}) was sent, and this catalogue has another item by its id or title`);
    const isHere = isSame && place !== undefined;
    if (isHere) numbers[place] = at;
    if (known) (isHere ? history : elsewhere).set(isHere ? place : at, known);
  });
  const keep = (now, version) => {
    const [all, here] = [[...names], new Map()];
    for (const item of rising(now.keys())) {
      numbers[item] ??= all.push([listed.ids[item], listed.titles[item]]) - 1;
      here.set(numbers[item], now.get(item));
    }
    return { scale: spelling, names: all, history: toColumns(elsewhere, here), turn: version };
  };
  return { turn, history, keep };
}

/**
 * What to send once these are the person's ratings: the same as before until a batch of them is new, or
 * more items are asked for.
 * @param {Record<string, any>} memory is not changed
 * @param {Coded} own @param {How} how
 * @returns {{sent: Coded, kept: {turn: number}}} kept: to be remembered as memory.obfuscation
 */
export function obfuscate(memory, collection, own, how) {
  const { turn, history: before, keep } = recall(memory, collection);
  const same = withoutGone(before, own);
  let history = same;
  if (!sentOf(same).items.length || newsIn(same, own) >= how.batch) history = advance(same, own, how);
  const short = lacks(history, how);
  if (short > 0) history = withFakes(history, short, own, how, { late: true });
  const kept = history === before ? memory.obfuscation : keep(history, turn + (history !== same));
  return { sent: sentOf(history), kept };
}

/** How many ratings are new since the last batch. */
function newsIn(history, own) {
  const isKnown = ({ true_items: code, met, suppressed } = {}) => code !== undefined || met || suppressed;
  return own.items.filter((item) => !isKnown(history.get(item))).length;
}

/** The same by what is remembered. @param {number[]} items that are rated now */
export const newsOf = (memory, collection, items) => newsIn(withoutGone(recall(memory, collection).history, { items }), { items });

/** How many more items have to look rated; there are as many. */
const lacks = (history, { terms }) => terms.least - sentOf(history).items.length;

/** What was taken back becomes a fake; what is sent stays the same. */
function withoutGone(history, own) {
  const rated = new Set(own.items);
  const gone = [...history].filter(([item, known]) => !rated.has(item) && ("true_items" in known || known.met));
  const fakes = gone.map(([item, { true_items: code, met, ...known }]) =>
    [item, code === undefined ? known : { ...known, fake_items: code, taken_back: true }]);
  return gone.length ? new Map([...history, ...fakes]) : history;
}

/** New ratings join, and new fakes with them. */
function advance(then, own, how) {
  const { terms, random } = how;
  const [now, rated] = [new Map(), new Set(own.items)];
  let newlyMet = 0;
  for (const [item, { met, ...known }] of then) {
    const meets = "fake_items" in known && !known.suppressed && rated.has(item);
    now.set(item, meets ? { ...known, met: true } : known);
    newlyMet += meets && !met;
  }
  const fresh = [...own.items.keys()].filter((i) => !then.has(own.items[i]));
  const hidden = drawBelow(100, fresh.length, random).map((place) => place < terms.suppress);
  fresh.forEach((i, at) => now.set(own.items[i], hidden[at] ? { suppressed: true } : { true_items: own.codes[i] }));
  // By the batch, not by all there is: else every item that joins later would be a true one. A fake that
  // was met is one fake less.
  const added = fresh.length - sum(hidden) + newlyMet;
  const wanted = Math.ceil((added * terms.percent) / 100) + newlyMet;
  const isFirst = !sentOf(then).items.length;
  return withFakes(now, Math.max(wanted, isFirst ? lacks(now, how) : 0), own, how);
}

/** So many more fakes, on items that are not sent; fewer if none are left. */
function withFakes(history, count, own, { terms, hash, keepHash, random }, marks = {}) {
  const { fakes: kind, popularity, size, parts } = terms;
  const mean = own.codes.length ? sum(own.codes) / own.codes.length : parts / 2;
  const free = [...Array(size).keys()].filter((item) => codeOf(history.get(item)) === undefined);
  const places = choosePlaces(free, count, kind === "popular" && popularity, random);
  const drawn =
    keepHash && places.length
      ? keepHash(hash, sentOf(history), places, hash.value(own.items, own.codes), mean, parts, random)
      : drawCodes(kind, mean, parts, places.length, random);
  const fakes = places.map((item, i) => [item, { ...history.get(item), fake_items: drawn[i], ...marks }]);
  return new Map([...history, ...fakes]);
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
  if (kind === "uniform") return drawBelow(parts + 1, count, random);
  const [radii, turns] = [random.uniforms(count), random.uniforms(count)];
  return Uint8Array.from(radii, (radius, i) => {
    const normal = Math.sqrt(-2 * Math.log(radius)) * Math.cos(2 * Math.PI * turns[i]);
    return clamp(Math.floor(mean + (parts / 4) * normal + 0.5), 0, parts);
  });
}

/**
 * How the person stands, for their own eyes: how many items that look rated are (`true`), were once
 * (`takenBack`), never were (`fakes`) and can be told to be made up (`late`); rated ones that do not
 * (`suppressed`); the chance that an item was ever rated, by counting (`share`).
 */
export function standingOf(memory, collection) {
  const all = [...recall(memory, collection).history.values()];
  const count = (fits) => all.filter(fits).length;
  const suppressed = count((known) => known.suppressed && !("fake_items" in known));
  const total = all.length - suppressed;
  // A suppressed item that a fake fell on is rated and looks it.
  const rated = count((known) => "true_items" in known || known.met || known.suppressed) - suppressed;
  const takenBack = count((known) => known.taken_back && !known.met);
  const late = count((known) => known.late && !known.met);
  const share = (rated + takenBack) / (total - late || 1);
  const said = (number) => number.toLocaleString("en");
  const more = (number, text) => (number ? ` ${said(number)} ${text}` : "");
  const sentences = total
    ? [
        "This is plausible deniability, not differential privacy: your true ratings are in what was sent, among made-up ones.",
        `Of ${said(total)} items that look rated, ${said(rated)} ${rated === 1 ? "is" : "are"}.` +
          more(takenBack, `more ${takenBack === 1 ? "was when it was sent, and stays" : "were when they were sent, and stay"}.`) +
          more(late, `of the others came by ${late === 1 ? "itself" : "themselves"}, because more items were asked for, and can be told to be made up.`),
        `By counting alone a guess that you rated one of them is right ${roundHalfEven(100 * share)}% of the time, and more often for popular items.`,
      ]
    : ["No obfuscated ratings were sent."];
  return { true: rated, takenBack, fakes: total - rated - takenBack, suppressed, share, late, sentences };
}

/**
 * Ratings among made-up ones. The server sees every version, so nothing about a change may tell the
 * true from the made-up: a made-up rating stays for good; each batch of new ratings brings new fakes at
 * the same ratio, each batch of changed ratings changed fakes; a true rating that is taken back stays as
 * a fake. As src/discreet/protocols/obfuscation/client, word for word of the random source.
 *
 * @typedef {{true_items: number[], true_codes: number[], fake_items: number[], fake_codes: number[],
 *   met: number[], suppressed: number[], taken_back: number[]}} History  rising items, codes beside them;
 *   met: fakes that were rated since; suppressed: rated, never sent; taken_back: fakes that were true once
 * @typedef {{fakes: string, percent: number, suppress: number, popularity: ArrayLike<number> | null,
 *   least: number, size: number, parts: number}} Terms  size: the catalogue's; parts: the largest code
 * @typedef {{items: number[], codes: number[]}} Coded
 */
import { drawBelow } from "./noise.js";

const NAMES = ["true_items", "true_codes", "fake_items", "fake_codes", "met", "suppressed", "taken_back"];
const TRIES = 256;

const rising = (items) => [...items].sort((one, other) => one - other);
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
const mapOf = (items, codes) => new Map(items.map((item, i) => [item, codes[i]]));
const trueOf = (history) => mapOf(history.true_items, history.true_codes);
const fakesOf = (history) => mapOf(history.fake_items, history.fake_codes);

/** @returns {Coded} */
function coded(ratings) {
  const items = rising(ratings.keys());
  return { items, codes: items.map((item) => ratings.get(item)) };
}

/** @returns {History} what a memory has kept, or that nothing was sent yet */
export function readHistory(kept) {
  if (kept === undefined) return Object.fromEntries(NAMES.map((name) => [name, []]));
  const whole = (value) => Number.isInteger(value) && value >= 0;
  const usable =
    NAMES.every((name) => Array.isArray(kept?.[name]) && kept[name].every(whole)) &&
    ["true", "fake"].every((kind) => kept[`${kind}_items`].length === kept[`${kind}_codes`].length);
  if (!usable) throw new Error("the client's memory has no usable history of uploads");
  return kept;
}

/** Everything that looks rated. */
export const sentOf = (history) => coded(new Map([...trueOf(history), ...fakesOf(history)]));

/** How many ratings are new, changed or gone since. @param {History} history @param {Coded} own */
export function changes(history, own) {
  const [sent, now] = [trueOf(history), mapOf(own.items, own.codes)];
  const known = new Set([...sent.keys(), ...history.met, ...history.suppressed]);
  const moved = [...sent].filter(([item, code]) => now.get(item) !== code); // gone or changed
  return moved.length + own.items.filter((item) => !known.has(item)).length;
}

const fakesFor = (terms, count) => Math.ceil((count * terms.percent) / 100);

/** How many more fakes such terms ask for, as far as there are items left for them. */
export function lacks(history, terms) {
  const sent = history.true_items.length + history.fake_items.length;
  const rated = history.true_items.length + history.met.length;
  const short = Math.max(fakesFor(terms, rated) - (sent - rated), terms.least - sent);
  return Math.max(Math.min(short, terms.size - sent), 0);
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
    return Math.min(Math.max(Math.floor(mean + (parts / 4) * normal + 0.5), 0), parts);
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
 * What to send once these are the person's ratings.
 * @param {History} then
 * @param {Coded} own all that the person has rated, rising
 * @param {Terms} terms
 * @param {{vectors: Int32Array[], value: Function}} hash from `makeHash`
 * @returns {History}
 */
export function advance(then, own, terms, hash, random) {
  const { fakes: kind, parts } = terms;
  const mean = own.codes.length ? sum(own.codes) / own.codes.length : parts / 2;
  const [now, fakes, known] = [mapOf(own.items, own.codes), fakesOf(then), new Set(then.met)];
  const [kept, back, suppressed] = [new Map(), new Set(then.taken_back), new Set(then.suppressed)];
  let changed = 0;
  trueOf(then).forEach((code, item) => {
    if (now.has(item)) {
      kept.set(item, now.get(item));
      changed += now.get(item) !== code;
    } else {
      fakes.set(item, code);
      back.add(item);
    }
  });
  if (changed) {
    const open = rising(fakes.keys()).filter((item) => !known.has(item));
    const which = choosePlaces(open, fakesFor(terms, changed), null, random);
    const drawn = drawCodes(kind, mean, parts, which.length, random);
    which.forEach((item, i) => {
      const was = fakes.get(item);
      fakes.set(item, drawn[i] !== was ? drawn[i] : was + (was < parts ? 1 : -1));
    });
  }
  const met = own.items.filter((item) => fakes.has(item) && !suppressed.has(item));
  const fresh = own.items.filter((item) => ![kept, fakes, suppressed].some((taken) => taken.has(item)));
  const hidden = drawBelow(100, fresh.length, random).map((place) => place < terms.suppress);
  fresh.forEach((item, i) => (hidden[i] ? suppressed.add(item) : kept.set(item, now.get(item))));
  // By the batch, not by all there is: else every item that joins later would be a true one.
  const added = fresh.length - sum(hidden) + met.filter((item) => !known.has(item)).length;
  const history = () => {
    const [shown, made] = [coded(kept), coded(fakes)];
    return {
      ...{ true_items: shown.items, true_codes: shown.codes, fake_items: made.items, fake_codes: made.codes },
      ...{ met, suppressed: rising(suppressed), taken_back: rising(back) },
    };
  };
  const before = history();
  const wanted = Math.max(fakesFor(terms, added), lacks(before, terms));
  const every = [...Array(terms.size).keys()];
  const free = every.filter((item) => !kept.has(item) && !fakes.has(item));
  const places = choosePlaces(free, wanted, kind === "popular" && terms.popularity, random);
  const drawn =
    kind === "same-hash" && places.length
      ? keepHash(hash, sentOf(before), places, hash.value(own.items, own.codes), mean, parts, random)
      : drawCodes(kind, mean, parts, places.length, random);
  places.forEach((item, i) => fakes.set(item, drawn[i]));
  return history();
}

/** Open clusters at home: a hash of the tastes, and ratings among made-up ones. */
import { makeHash } from "./cluster_hash.js";
import { drawBelow, flipCoins } from "./noise.js";
import { advance, changes, lacks, readHistory, sentOf } from "./obfuscation.js";
import { checkFields, digestOf, fromBase64, ontoScale, readScale, toBase64 } from "./protocol.js";
import { systemRandom } from "./random.js";
import { fromGrid, gridParts, roundHalfEven, toGrid } from "./scale.js";

const HEAD = { protocol: "open-clusters", version: 1 };
const FAKES = ["around-mean", "uniform", "popular", "same-hash"];
const WHOLE = { from: 0, to: 2 ** 31 - 1 };
const RULES = {
  protocol: [HEAD.protocol],
  version: [HEAD.version],
  items: WHOLE,
  catalog: 64,
  scale: 200,
  bits: { from: 1, to: 16 },
  hash: ["orthogonal", "lsh"],
  beacon: 200,
  hash_on: ["true", "obfuscated"],
  bit_epsilon_thousandths: { from: 0, to: 700000 },
  fakes: FAKES,
  fake_percent: { from: 0, to: 1000 },
  suppress_percent: { from: 0, to: 90 },
  least: WHOLE,
  epoch: WHOLE,
};
const [LEAST, LEAST_PERCENT] = [80, 50]; // whatever a collection asks for, as far as there are items

/**
 * The public terms of a collection: the announced fields, and these.
 * @typedef {{digest: string, scale: import("./scale.js").Scale, spelling: string, parts: number,
 *   clusterHash: () => ReturnType<typeof makeHash>} & Record<string, any>} Collection  spelling: of the
 *   scale; parts: the largest code of a rating; clusterHash: made when it is first asked for
 */

/**
 * Read the announced JSON beside the catalogue it speaks of.
 * @param {any} json
 * @param {{ids: ArrayLike<string>, digest: string}} catalog
 * @returns {Promise<Collection>}
 */
export async function readCollection(json, catalog) {
  checkFields(json, RULES);
  const { items, bits, hash: kind, beacon } = json;
  if (items !== catalog.ids.length || json.catalog !== catalog.digest)
    throw new Error("collection: 'catalog' is not this catalogue's digest");
  if (json.least > items || bits > items)
    throw new Error("collection: 'least' and 'bits' should be no more than there are items");
  if (json.hash_on === "obfuscated" && json.bit_epsilon_thousandths)
    throw new Error("collection: a hash of what is sent needs no noise: anybody can compute it");
  const scale = readScale(json.scale);
  const text = JSON.stringify(json, Object.keys(RULES).sort());
  let made;
  const clusterHash = () => (made ??= makeHash({ digest: catalog.digest, items, bits, kind, beacon }));
  const digest = await digestOf(`discreet collection 1\n${text}`);
  return { ...json, digest, scale, spelling: json.scale, parts: gridParts(scale), clusterHash };
}

/**
 * What an upload says: items that look rated, and the ratings that are sent for them.
 * @returns {{hash: number, kind: string, items: Int32Array, codes: Uint8Array, ratings: Float64Array}}
 */
export function readUpload(message, collection) {
  const { hash, ratings: kind, items: places = "", codes: grid = "" } = message ?? {};
  const [items, codes] = [new Int32Array(fromBase64(places).buffer), fromBase64(grid)];
  if (message?.collection !== collection.digest || items.length !== codes.length)
    throw new Error("upload: it is damaged, or of another collection");
  return { hash, kind, items, codes, ratings: fromGrid(collection.scale, codes) };
}

/** The person's own terms: the collection's or stricter ones, and never below the floors. */
function termsOf(collection, { fakes, fakePercent, suppressPercent, popularity = null, bare }) {
  const kind = fakes ?? collection.fakes;
  const floor = Math.max(collection.fake_percent, bare ? 0 : LEAST_PERCENT);
  const [percent, suppress] = [fakePercent ?? floor, suppressPercent ?? collection.suppress_percent];
  const within = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;
  if (!FAKES.includes(kind)) throw new Error(`fakes are one of ${FAKES.join(", ")}`);
  if (!within(percent, floor, 1000)) throw new Error(`fakePercent is from ${floor} to 1000`);
  if (!within(suppress, collection.suppress_percent, 90))
    throw new Error(`suppressPercent is from ${collection.suppress_percent} to 90`);
  const known = popularity?.length === collection.items && Array.from(popularity);
  if (kind === "popular" && !(known && known.every((one) => one >= 0 && one < Infinity)))
    throw new Error("popular fakes need the popularity of every item of the catalogue, 0 or above");
  const least = Math.max(collection.least, bare ? 0 : Math.min(LEAST, collection.items));
  const { items: size, parts } = collection;
  return { fakes: kind, percent, suppress, popularity, least, size, parts };
}

/** One person's side of a collection. */
export class OpenClient {
  #options;
  #random;

  /**
   * @param {Collection} collection from `readCollection`
   * @param {Record<string, any>} memory a plain object, {} at first, that `report` changes: the caller
   *   stores it BEFORE the upload leaves the house, keeps it for good, and lets one tab at a time change
   *   it. Whoever loses it draws new fakes, and what both uploads share is then true. It is laid out as
   *   the state of Python's client; all collections of a catalogue and scale share its fakes.
   * @param {{fakes?: string, fakePercent?: number, suppressPercent?: number, batch?: number,
   *   popularity?: ArrayLike<number>, reveal?: boolean, hashOnly?: boolean,
   *   random?: import("./random.js").Random}} options stricter terms than the collection's; batch: how
   *   many changes an upload waits for; popularity: a release's counts, which `popular` fakes need;
   *   reveal: send all true ratings and say so; hashOnly: send no ratings
   */
  constructor(collection, memory, options = {}) {
    const { reveal = false, hashOnly = false, batch = 5, random = systemRandom() } = options;
    if (reveal && hashOnly) throw new Error("either reveal all ratings or send only the hash, not both");
    if (hashOnly && collection.hash_on === "obfuscated")
      throw new Error("this collection hashes what is sent; the hash alone is not taken");
    if (!(batch >= 1)) throw new Error("a batch is at least 1 change");
    const terms = termsOf(collection, { ...options, bare: reveal || hashOnly });
    Object.assign(this, { collection, memory, terms });
    this.#options = { reveal, hashOnly, batch };
    this.#random = random;
  }

  /**
   * What to send now that these are the person's ratings; it takes the last upload's place. The same
   * as before, to the byte, until there are enough changes for a batch. If it throws, `memory` is as it
   * was.
   * @param {{items: ArrayLike<number>, values: ArrayLike<number>}} own
   * @returns {Promise<object>} the message
   */
  async report(own) {
    const { collection, terms, memory } = this;
    const { reveal, hashOnly, batch } = this.#options;
    const hash = await collection.clusterHash(); // nothing waits below: two calls cannot both draw
    const { items, values } = ontoScale(own, collection.scale, collection.items);
    const rated = { items: [...items], codes: [...toGrid(collection.scale, values)] };
    // Under an epsilon, whether anything is rated must not show either.
    if (!items.length && (reveal || !collection.bit_epsilon_thousandths))
      throw new Error("there is nothing to report: none of the catalogue's items is rated");
    const told = { ...memory[collection.digest] };
    if (reveal || hashOnly) {
      const value = this.#reported(hash.value(rated.items, rated.codes), told);
      memory[collection.digest] = told;
      return this.#message(value, reveal ? "revealed" : "none", rated);
    }
    const shared = { ...memory[this.#shared] };
    let history = readHistory(shared.history);
    const waiting = "history" in shared && changes(history, rated) < batch;
    if (!waiting || lacks(history, terms)) {
      history = advance(history, rated, terms, hash, this.#random);
      Object.assign(shared, { history, turn: (shared.turn ?? 0) + 1 });
    }
    if (!told.upload || told.turn !== shared.turn) {
      const sent = sentOf(history);
      const hashed = collection.hash_on === "true" ? rated : sent;
      const value = this.#reported(hash.value(hashed.items, hashed.codes), told);
      Object.assign(told, { turn: shared.turn, upload: this.#message(value, "obfuscated", sent) });
    }
    readUpload(told.upload, collection);
    Object.assign(memory, { [this.#shared]: shared, [collection.digest]: told });
    return told.upload;
  }

  /**
   * How the person stands, for their own eyes: how many items that look rated are (`true`), were once
   * (`takenBack`), never were (`fakes`); rated ones that do not (`suppressed`); the chance that an item
   * was ever rated, by counting (`share`); what hash bits cost in all (`hashEpsilon`).
   */
  standing() {
    const history = readHistory(this.memory[this.#shared]?.history);
    const { true_items: sent, fake_items: made, met, suppressed, taken_back: back } = history;
    const count = (items, where) => items.filter((item) => where.includes(item)).length;
    // A suppressed item that a fake fell on is rated and looks it.
    const hit = count(suppressed, made);
    const [rated, takenBack] = [sent.length + met.length + hit, back.length - count(back, met)];
    const total = sent.length + made.length;
    const hashEpsilon = Object.values(this.memory).reduce((sum, each) => sum + (each.hash_epsilon ?? 0), 0);
    return {
      ...{ true: rated, takenBack, fakes: total - rated - takenBack, suppressed: suppressed.length - hit },
      ...{ share: (rated + takenBack) / total, hashEpsilon },
      sentences: () => sentencesOf(rated, takenBack, total, hashEpsilon),
    };
  }

  /** Where the memory has the history of a catalogue and scale; no digest has a space. */
  get #shared() {
    return `${this.collection.catalog} ${this.collection.spelling}`;
  }

  /** The hash value as it is, or the one answer that randomized response gave, for the whole epoch. */
  #reported(value, told) {
    const { bits, bit_epsilon_thousandths: thousandths } = this.collection;
    if (!thousandths) return value;
    if (told.answer === undefined) {
      const kept = flipCoins(1, thousandths / 1000, bits, this.#random);
      drawBelow(1, bits, this.#random); // which of the one other symbol: as Python takes words
      told.answer = kept.reduce((said, keep, bit) => said ^ (keep ? 0 : 1 << bit), value);
      told.hash_epsilon = bits * (thousandths / 1000);
    }
    return told.answer;
  }

  #message(hash, ratings, { items, codes }) {
    const head = { ...HEAD, collection: this.collection.digest, hash, ratings };
    if (ratings === "none") return head;
    return { ...head, items: toBase64(Int32Array.from(items)), codes: toBase64(Uint8Array.from(codes)) };
  }
}

function sentencesOf(rated, takenBack, total, hashEpsilon) {
  const show = (number) => number.toLocaleString("en");
  const back = takenBack ? ` ${show(takenBack)} more were when they were sent, and stay.` : "";
  const share = roundHalfEven((100 * (rated + takenBack)) / total);
  const said = total
    ? [
        "This is plausible deniability, not differential privacy: your true ratings are in what was sent, among made-up ones.",
        `Of ${show(total)} items that look rated, ${show(rated)} are.${back} By counting alone a guess that you rated one of them is right ${share}% of the time, and more often for popular items.`,
      ]
    : ["No obfuscated ratings were sent."];
  if (hashEpsilon)
    said.push(`Your hash was reported with an epsilon of ${hashEpsilon} in all; that covers the hash and not the ratings.`);
  return said;
}

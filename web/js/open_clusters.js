/** Open clusters at home: a hash of the tastes, and ratings among made-up ones. */
import { makeHash } from "./cluster_hash.js";
import { flipCoins } from "./coins.js";
import { newsOf, obfuscate, standingOf } from "./obfuscation.js";
import { checkFields, Client, fromBase64, ontoScale, show, toBase64, toldIn } from "./protocol.js";
import { drawBelow } from "./random.js";
import { sha256 } from "./release.js";
import { keepHash } from "./same_hash.js";
import { fromGrid, gridParts, readScale, toGrid } from "./scale.js";

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
// Whatever a collection asks for, as far as there are items.
const [LEAST, LEAST_PERCENT] = [80, 50];

/**
 * Read the announced JSON beside the catalogue it speaks of.
 * @param {any} json @param {import("./release.js").Catalog} catalog
 * @returns {Promise<Record<string, any>>} the announced fields, and: digest; hashDigest, of all that a hash
 *   value depends on besides the ratings; scale and its spelling; parts, the largest code of a rating;
 *   listed, the catalogue; clusterHash(), made when it is first asked for
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
  const hashed = ["discreet hash of ratings 1", catalog.digest, json.scale, bits, kind, beacon];
  let made;
  return {
    ...json,
    digest: await sha256(`discreet collection 1\n${text}`),
    hashDigest: await sha256(hashed.join("\n")),
    ...{ scale, spelling: json.scale, parts: gridParts(scale), listed: catalog },
    clusterHash: () => (made ??= makeHash({ digest: catalog.digest, items, bits, kind, beacon })),
  };
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

/** The collection's terms, and never below the floors. @param {any} collection @param {ArrayLike<number>} [popularity] */
function termsOf({ items: size, parts, fakes, fake_percent: asked, suppress_percent: suppress, least: fewest }, popularity) {
  const known = popularity?.length === size && Array.from(popularity).every((one) => one >= 0 && one < Infinity);
  if (fakes === "popular" && !known)
    throw new Error("popular fakes need the popularity of every item of the catalogue, 0 or above");
  const [percent, least] = [Math.max(asked, LEAST_PERCENT), Math.max(fewest, Math.min(LEAST, size))];
  return { fakes, percent, suppress, popularity, least, size, parts };
}

/**
 * One person's side of a collection. Whoever loses its memory draws new fakes, and what both uploads share
 * is then true; all collections share its fakes.
 */
export class OpenClient extends Client {
  #batch;

  /**
   * As `Client`; further options are batch: how many new ratings an upload waits for; popularity: a release's counts,
   * which `popular` fakes need.
   */
  constructor(collection, memory, options = {}) {
    super(collection, memory, options);
    const { batch = 5, popularity } = options;
    if (!(batch >= 1)) throw new Error("a batch is at least 1 change");
    this.terms = termsOf(collection, popularity);
    this.#batch = batch;
  }

  /**
   * What to send now that these are the person's ratings; it takes the last upload's place. The same
   * as before, to the byte, until there are enough new ratings for a batch. If it throws, `memory` is as
   * it was, but for the limit.
   * @param {{items: ArrayLike<number>, values: ArrayLike<number>}} own
   * @returns {Promise<object>} the message
   */
  async report(own) {
    const { collection, terms, memory, random } = this;
    const { scale, digest, hash_on: hashOn, bit_epsilon_thousandths: isCovered } = collection;
    const hash = await collection.clusterHash();
    // Nothing waits below: two calls cannot both draw.
    const { items, values } = ontoScale(own, scale, collection.items);
    const rated = { items: [...items], codes: [...toGrid(scale, values)] };
    // Under an epsilon, whether anything is rated must not show either.
    if (!items.length && !isCovered)
      throw new Error("there is nothing to report: none of the catalogue's items is rated");
    this._rememberLimit();
    const state = { ...memory };
    const { sent, kept } = obfuscate(memory, collection, rated, { terms, batch: this.#batch, hash, keepHash: terms.fakes === "same-hash" && keepHash, random });
    const { turn } = kept;
    let made = memory.uploads?.[digest];
    if (made?.turn !== turn) {
      const hashed = hashOn === "true" ? rated : sent;
      const value = this.#reported(hash.value(hashed.items, hashed.codes), state);
      const [places, codes] = [Int32Array.from(sent.items), Uint8Array.from(sent.codes)].map(toBase64);
      made = { turn, upload: { ...HEAD, collection: digest, hash: value, ratings: "obfuscated", items: places, codes } };
    }
    readUpload(made.upload, collection);
    Object.assign(memory, state, { obfuscation: kept, uploads: { ...memory.uploads, [digest]: made } });
    return made.upload;
  }

  /** How many ratings are new since the last upload was drawn, and how many more another one waits for. */
  waits({ items }) {
    const news = newsOf(this.memory, this.collection, [...items]);
    return { news, more: Math.max(this.#batch - news, 0) };
  }

  /** The last upload that was drawn, sent or not. */
  get drawn() {
    return this.memory.uploads?.[this.collection.digest]?.upload;
  }

  /** What `report` would add to the hash's epsilon: 0 if it is answered, or has none. */
  get cost() {
    return this.memory.answers?.[this.#question] ? 0 : this.#epsilon;
  }

  /** As `standingOf` says, and what all answers about hashes have cost (`hashEpsilon`). */
  standing() {
    const { sentences, ...counts } = standingOf(this.memory, this.collection);
    const hashEpsilon = toldIn(this.memory);
    if (hashEpsilon)
      sentences.push(`Your hash was reported with an epsilon of ${show(hashEpsilon)} in all; that covers the hash and not the ratings.`);
    return { ...counts, hashEpsilon, sentences: () => sentences };
  }

  get #epsilon() {
    return this.collection.bits * (this.collection.bit_epsilon_thousandths / 1000);
  }

  /** What an answer is about: another one to the same would be drawn for nothing. */
  get #question() {
    const { hashDigest, epoch, bit_epsilon_thousandths: thousandths } = this.collection;
    return `${hashDigest} ${epoch} ${thousandths}`;
  }

  /** The hash value as it is, or the one answer that randomized response gave, for the whole epoch. */
  #reported(value, state) {
    const { bits, bit_epsilon_thousandths: thousandths } = this.collection;
    if (!thousandths) return value;
    state.answers = { ...state.answers };
    if (!state.answers[this.#question]) {
      this._checkLimit(toldIn(state), this.#epsilon);
      const kept = flipCoins(1, thousandths / 1000, bits, this.random);
      // Which of the one other symbol: as Python takes words.
      drawBelow(1, bits, this.random);
      const said = kept.reduce((all, keep, bit) => all ^ (keep ? 0 : 1 << bit), value);
      state.answers[this.#question] = { value: said, epsilon: this.#epsilon };
    }
    return state.answers[this.#question].value;
  }
}

/** By the names that every protocol has. */
export { OpenClient as Client, readUpload as readSent };

/** Open clusters at home: a hash of the tastes, and ratings among made-up ones. */
import { makeHash } from "./cluster_hash.js";
import { obfuscate, standingOf } from "./obfuscation.js";
import { checkFields, Client, fromBase64, ontoScale, readScale, show, toBase64 } from "./protocol.js";
import { drawBelow, flipCoins } from "./random.js";
import { sha256 } from "./release.js";
import { fromGrid, gridParts, toGrid } from "./scale.js";

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
 * @typedef {{digest: string, hashDigest: string, scale: import("./scale.js").Scale, spelling: string,
 *   parts: number, listed: any, clusterHash: () => ReturnType<typeof makeHash>} & Record<string, any>}
 *   Collection  hashDigest: of all that a hash value depends on besides the ratings; spelling: of the
 *   scale; parts: the largest code of a rating; listed: the catalogue; clusterHash: made when asked for
 */

/**
 * Read the announced JSON beside the catalogue it speaks of.
 * @param {any} json
 * @param {import("./release.js").Catalog} catalog
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
  const digest = await sha256(`discreet collection 1\n${text}`);
  const hashed = ["discreet hash of ratings 1", catalog.digest, json.scale, bits, kind, beacon];
  const hashDigest = await sha256(hashed.join("\n"));
  return { ...json, digest, hashDigest, scale, spelling: json.scale, parts: gridParts(scale), listed: catalog, clusterHash };
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
  checkFields({ fakes: kind, fakePercent: percent, suppressPercent: suppress }, {
    fakes: FAKES,
    fakePercent: { from: floor, to: 1000 },
    suppressPercent: { from: collection.suppress_percent, to: 90 },
  }, "own terms");
  const { items: size, parts } = collection;
  const known = popularity?.length === size && Array.from(popularity).every((one) => one >= 0 && one < Infinity);
  if (kind === "popular" && !known)
    throw new Error("popular fakes need the popularity of every item of the catalogue, 0 or above");
  const least = Math.max(collection.least, bare ? 0 : Math.min(LEAST, size));
  return { fakes: kind, percent, suppress, popularity, least, size, parts };
}

/**
 * One person's side of a collection. Whoever loses its memory draws new fakes, and what both uploads share
 * is then true; all collections share its fakes.
 */
export class OpenClient extends Client {
  #options;

  /**
   * @param {Collection} collection
   * @param {Record<string, any>} memory as `Client` has it
   * @param {{fakes?: string, fakePercent?: number, suppressPercent?: number, batch?: number,
   *   popularity?: ArrayLike<number>, reveal?: boolean, hashOnly?: boolean, limit?: number | null,
   *   random?: import("./random.js").Random}} options stricter terms than the collection's; batch: how
   *   many new ratings an upload waits for; popularity: a release's counts, which `popular` fakes need;
   *   reveal: send all true ratings and say so; hashOnly: send no ratings
   */
  constructor(collection, memory, options = {}) {
    super(collection, memory, options);
    const { reveal = false, hashOnly = false, batch = 5 } = options;
    if (reveal && hashOnly) throw new Error("either reveal all ratings or send only the hash, not both");
    if (hashOnly && collection.hash_on === "obfuscated")
      throw new Error("this collection hashes what is sent; the hash alone is not taken");
    if (!(batch >= 1)) throw new Error("a batch is at least 1 change");
    this.terms = termsOf(collection, { ...options, bare: reveal || hashOnly });
    this.#options = { reveal, hashOnly, batch };
  }

  /**
   * What to send now that these are the person's ratings; it takes the last upload's place. The same
   * as before, to the byte, until there are enough new ratings for a batch. If it throws, `memory` is as
   * it was, but for the limit.
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
    this._rememberLimit();
    const state = { ...memory };
    let upload;
    if (reveal || hashOnly) {
      upload = this.#message(this.#reported(hash, rated, state), reveal ? "revealed" : "none", rated);
    } else {
      const { sent, kept } = obfuscate(memory, collection, rated, terms, batch, hash, this.random);
      const { turn } = kept;
      let made = memory.uploads?.[collection.digest];
      if (made?.turn !== turn) {
        const value = this.#reported(hash, collection.hash_on === "true" ? rated : sent, state);
        made = { turn, upload: this.#message(value, "obfuscated", sent) };
      }
      ({ upload } = made);
      readUpload(upload, collection);
      Object.assign(state, { obfuscation: kept, uploads: { ...memory.uploads, [collection.digest]: made } });
    }
    Object.assign(memory, state);
    return upload;
  }

  /** What `report` would add to the hash's epsilon: 0 if it is answered, or has none. */
  get cost() {
    return this.memory.answers?.[this.#question] ? 0 : this.#epsilon;
  }

  /** As `standingOf` says, and what all answers about hashes have cost (`hashEpsilon`). */
  standing() {
    const hashEpsilon = spentOn(this.memory);
    const { sentences, ...counts } = standingOf(this.memory, this.collection);
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
  #reported(hash, { items, codes }, state) {
    const { bits, bit_epsilon_thousandths: thousandths } = this.collection;
    const value = hash.value(items, codes);
    if (!thousandths) return value;
    const answers = { ...state.answers };
    if (!answers[this.#question]) {
      this._checkLimit(spentOn(state), this.#epsilon);
      const kept = flipCoins(1, thousandths / 1000, bits, this.random);
      drawBelow(1, bits, this.random); // which of the one other symbol: as Python takes words
      const said = kept.reduce((all, keep, bit) => all ^ (keep ? 0 : 1 << bit), value);
      answers[this.#question] = { value: said, epsilon: this.#epsilon };
    }
    state.answers = answers;
    return answers[this.#question].value;
  }

  #message(hash, ratings, { items, codes }) {
    const head = { ...HEAD, collection: this.collection.digest, hash, ratings };
    if (ratings === "none") return head;
    return { ...head, items: toBase64(Int32Array.from(items)), codes: toBase64(Uint8Array.from(codes)) };
  }
}

/** What all answers about hashes have cost. */
const spentOn = ({ answers = {} }) => Object.values(answers).reduce((sum, { epsilon }) => sum + epsilon, 0);

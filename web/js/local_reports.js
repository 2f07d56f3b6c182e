/** Local reports at home: answers are drawn once a period (its number is the `epoch` of messages), kept, and repeated. */
import { flipCoins } from "./coins.js";
import { drawBinomial, drawNoise, drawPlaces } from "./noise.js";
import { checkFields, Client, fromBase64, ontoScale, show, toBase64, toldIn } from "./protocol.js";
import { drawBelow } from "./random.js";
import { sha256 } from "./release.js";
import { clamp, gridParts, readScale, roundHalfEven } from "./scale.js";

const LAPLACE = "modified-laplace";
const ROUNDED = "rounded-response";
const RESPONSE = "randomized response";
const MECHANISMS = { [ROUNDED]: RESPONSE, "randomized-response": RESPONSE, [LAPLACE]: "modified Laplace" };
const KINDS = { uint8: Uint8Array, int16: Int16Array, int32: Int32Array };
const RULES = {
  protocol: ["local-reports"],
  version: [1],
  type: ["collection"],
  catalog: 64,
  items: { from: 1, to: 2 ** 24 },
  scale: 200,
  mechanism: Object.keys(MECHANISMS),
  epsilon_thousandths: { from: 10, to: 50000 },
  epoch: { from: 1, to: 2 ** 31 },
  ...{ reach: null, least: null, largest: null, number: null, digest: null },
};

/**
 * Read the announced JSON beside the catalogue it speaks of; it must not contradict itself. Ratings are
 * integers from -reach to reach that are `unit` apart on the scale with `mid` in the middle, a report's
 * integers from least to largest; epsilon is for each rating and epoch.
 * @param {any} json @param {import("./release.js").Catalog} catalog
 */
export async function readCollection(json, catalog) {
  checkFields(json, RULES);
  const { mechanism, epoch, epsilon_thousandths: thousandths } = json;
  const scale = readScale(json.scale);
  const laplace = mechanism === LAPLACE;
  if (scale.step === null && mechanism === "randomized-response")
    throw new Error("collection: randomized response needs a scale in steps");
  const parts = scale.step === null ? 200 : gridParts(scale);
  const reach = parts % 2 ? parts : parts / 2;
  const answers = mechanism === ROUNDED ? 2 : parts + 1;
  const largest = laplace ? reach + Math.ceil((40000 * reach) / thousandths) : answers;
  const lines = ["discreet local-reports 1", catalog.digest, json.scale, mechanism, thousandths];
  const told = {
    catalog: catalog.digest,
    items: catalog.ids.length,
    reach,
    least: laplace ? -largest : 1,
    largest,
    number: !laplace && largest < 2 ** 8 ? "uint8" : largest < 2 ** 15 ? "int16" : "int32",
    digest: await sha256(lines.join("\n")),
  };
  const wrong = Object.keys(told).find((name) => json[name] !== told[name]);
  if (wrong) throw new Error(`collection: '${wrong}' does not follow from the catalogue and the other fields`);
  const [mid, unit] = [(scale.lo + scale.hi) / 2, (scale.hi - scale.lo) / (2 * reach)];
  return { ...told, mechanism, epsilon: thousandths / 1000, epoch, scale, unit, mid, answers };
}

/** An item that is not rated shows with odds ways e^-exponent. @returns {[ways: number, exponent: number]} */
const oddsOf = ({ mechanism, epsilon, answers }) => (mechanism === LAPLACE ? [1, epsilon / 2] : [answers, epsilon]);

/** Noise of the mechanism's scale in grid steps, rounded up. */
function noiseOf({ reach, epsilon }, count, random) {
  const scale = new Float64Array([(2 * reach) / epsilon]);
  new BigUint64Array(scale.buffer)[0]++;
  return drawNoise(scale[0], count, random);
}

/** Answers for ratings on the grid; null for those that do not show. */
function answersOf(collection, values, random) {
  const { mechanism, reach, answers } = collection;
  if (!values.length) return [];
  // Rounded to an end of the scale, so that it is right on average.
  if (mechanism === ROUNDED) {
    const drawn = drawBelow(2 * reach, values.length, random);
    values = values.map((value, i) => (drawn[i] < value + reach ? reach : -reach));
  }
  const kept = flipCoins(...oddsOf(collection), values.length, random);
  if (mechanism === LAPLACE) {
    const noise = noiseOf(collection, values.length, random);
    return values.map((value, i) => (kept[i] ? value + noise[i] : null));
  }
  const other = drawBelow(answers, values.length, random);
  return values.map((value, i) => {
    // 0 is "not rated".
    const symbol = ((value + reach) * (answers - 1)) / (2 * reach) + 1;
    return (kept[i] ? symbol : other[i] + Number(other[i] >= symbol)) || null;
  });
}

/**
 * A message with fresh answers for every item of the catalogue, without walking it: how many of those not
 * rated show is binomial, and then every set of places is as likely. Nothing is remembered.
 */
export function drawReport(collection, own, random) {
  const { scale, unit, mid, reach, least, largest } = collection;
  const { items, values } = ontoScale(own, scale, collection.items);
  const grid = Array.from(values, (value) => clamp(roundHalfEven((value - mid) / unit), -reach, reach));
  const shown = [];
  answersOf(collection, grid, random).forEach((answer, i) => answer !== null && shown.push([items[i], answer]));
  const others = collection.items - items.length;
  const count = drawBinomial(others, ...oddsOf(collection), random);
  const places = drawPlaces(count, others, random);
  const fakes =
    collection.mechanism === LAPLACE
      ? noiseOf(collection, count, random)
      : drawBelow(collection.answers, count, random).map((level) => level + 1);
  // Rated items up to the place.
  let before = 0;
  places.forEach((place, i) => {
    while (items[before] - before <= place) before++;
    shown.push([place + before, fakes[i]]);
  });
  shown.sort(([one], [other]) => one - other);
  const reported = new Uint8Array(Math.ceil(collection.items / 8));
  for (const [item] of shown) reported[item >> 3] |= 1 << (item & 7);
  const cut = shown.map(([, value]) => clamp(value, least, largest));
  return {
    protocol: "local-reports",
    version: 1,
    type: "report",
    collection: collection.digest,
    epoch: collection.epoch,
    reported: toBase64(reported),
    values: toBase64(KINDS[collection.number].from(cut)),
  };
}

/**
 * What a report says of the items that show, most of which may never have been rated.
 * @returns {{items: Int32Array, values: Int32Array, ratings: Float64Array}} values as they are sent,
 *   ratings as they read on the scale, or past its ends
 */
export function readReport(message, collection) {
  const { mechanism, reach, answers, mid, unit, least, largest } = collection;
  const damaged = new Error("report: it is damaged, or of another collection");
  if (message?.collection !== collection.digest || message.epoch !== collection.epoch) throw damaged;
  let bits, values;
  try {
    bits = fromBase64(message.reported);
    values = Int32Array.from(new KINDS[collection.number](fromBase64(message.values).buffer));
  } catch {
    throw damaged;
  }
  const marks = new Uint8Array(8 * bits.length).map((_, i) => (bits[i >> 3] >> (i & 7)) & 1);
  const items = Int32Array.from([...marks.keys()].filter((i) => marks[i]));
  const inside = values.every((value) => value >= least && value <= largest);
  const whole = bits.length === Math.ceil(collection.items / 8) && (items.at(-1) ?? 0) < collection.items;
  if (!inside || !whole || items.length !== values.length) throw damaged;
  const grid = (value) => (mechanism === LAPLACE ? value : ((value - 1) * 2 * reach) / (answers - 1) - reach);
  return { items, values, ratings: Float64Array.from(values, (value) => mid + unit * grid(value)) };
}

/** What reports of all epochs and collections add up to. */
function spentOf(events) {
  const usable = (e) => e?.kind === "pure" && e.epsilon > 0 && e.epsilon < 1e6 && e.count === 1 && e.ratings_per_user > 0;
  if (!Array.isArray(events) || !events.every(usable))
    throw new Error("the kept count of what was spent is damaged");
  const perRating = toldIn({ events });
  const perUser = events.reduce((sum, event) => sum + event.epsilon * event.ratings_per_user, 0);
  const reports = events.length;
  const sentence =
    `${reports} report${reports === 1 ? "" : "s"} drawn: epsilon ${show(perRating, 4, true)} for each rating, ` +
    `${show(perUser, 6, true)} for all of them together.`;
  return { reports, perRating, perUser, sentences: () => [sentence] };
}

/** One person's side of a collection; without its memory answers would be drawn anew. */
export class LocalClient extends Client {
  /** The running total: {reports, perRating, perUser, sentences()}. */
  get spent() {
    return spentOf(this.memory.events ?? []);
  }

  /** What `report` would add to each rating's epsilon: 0 if the answer is there already. */
  get cost() {
    return this.#kept() ? 0 : this.collection.epsilon;
  }

  /**
   * The answers for this epoch: the first ever given, or new ones; later ratings and changed ones change
   * nothing. If it throws, nothing was drawn and `memory` is as it was, but for the limit.
   * @param {{items: Int32Array, values: Float64Array}} own
   * @returns {object} the message
   */
  report(own) {
    const { collection, memory } = this;
    const { epsilon, epoch, items, digest, scale, mechanism } = collection;
    this._rememberLimit();
    ontoScale(own, scale, items);
    const kept = this.#kept();
    if (kept) return kept;
    this._checkLimit(this.spent.perRating, epsilon);
    const drawn = drawReport(collection, own, this.random);
    const event = {
      kind: "pure", unit: "rating", label: `a local report, period ${epoch}`, count: 1, ratings_per_user: items,
      covers_change: true, epsilon, mechanism: MECHANISMS[mechanism],
    };
    memory.events = [...(memory.events ?? []), event];
    memory.reports = { ...memory.reports, [digest]: drawn };
    return drawn;
  }

  #kept() {
    const { epoch, digest } = this.collection;
    const { reports = {} } = this.memory;
    const told = reports?.[digest];
    if (told === undefined && reports === Object(reports)) return null;
    if (!Number.isInteger(told?.epoch)) throw new Error("a kept report is damaged");
    if (told.epoch > epoch)
      throw new Error(
        `period ${epoch} is over: this client has answered period ${told.epoch}, and another would cost again`,
      );
    return told.epoch === epoch && readReport(told, this.collection) ? told : null;
  }
}

/** By the names that every protocol has. */
export { LocalClient as Client, readReport as readSent };

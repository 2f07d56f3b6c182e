/** What both protocols have in common. */
import { systemRandom } from "./random.js";
import { nearest } from "./scale.js";

/**
 * Refuse terms that are not as the rules say: for each field a list of choices, {from, to} of a whole
 * number, the greatest length of a printable text, or null.
 */
export function checkFields(json, rules) {
  if (json?.constructor !== Object) throw new Error("collection: an object was expected");
  const names = Object.keys(rules);
  if (!Object.keys(json).every((name) => Object.hasOwn(rules, name)))
    throw new Error(`collection: a field that it does not have; it has ${names.join(", ")}`);
  for (const name of names.filter((each) => rules[each] !== null)) {
    const [rule, value] = [rules[name], json[name]];
    const [fits, wanted] = Array.isArray(rule)
      ? [rule.includes(value), `one of ${rule.join(", ")}`]
      : rule.to
        ? [Number.isInteger(value) && value >= rule.from && value <= rule.to, `a whole number from ${rule.from} to ${rule.to}`]
        : [isText(value, rule), `a text of at most ${rule} printable characters`];
    if (!fits) throw new Error(`collection: '${name}' should be ${wanted}`);
  }
}

const isText = (value, longest) =>
  typeof value === "string" && [...value].length <= longest && !/[\p{C}\p{Z}]/u.test(value.replaceAll(" ", ""));

/** @param {ArrayBufferView} numbers little-endian, as all browsers are */
export function toBase64({ buffer, byteOffset, byteLength }) {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(text);
}

export const fromBase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));

/** Own ratings, brought onto an announced scale: to object to a rating would tell the server something. */
export function ontoScale(own, scale, size) {
  const [items, values] = [Int32Array.from(own.items), Float64Array.from(own.values)];
  const rising = items.every((item, i) => item > (i ? items[i - 1] : -1) && item < size);
  if (!rising || values.length !== items.length || !values.every(Number.isFinite))
    throw new Error(`own ratings are finite numbers, beside rising catalogue indices below ${size}`);
  return { items, values: values.map((value) => nearest(scale, value)) };
}

/** A number for people, of so many digits at most, as Python says it. */
export const show = (number, maximumSignificantDigits = 6, useGrouping = false) =>
  number.toLocaleString("en", { maximumSignificantDigits, useGrouping });

/** The epsilon, for any one rating, of all that a protocol's memory says was drawn: reports, and answers about the hash. */
export const toldIn = ({ events = [], answers = {} }) =>
  [...events, ...Object.values(answers)].reduce((sum, { epsilon }) => sum + epsilon, 0);

/** One person's side of a collection: what every protocol has. */
export class Client {
  /**
   * @param {any} collection from `readCollection`
   * @param {Record<string, any>} memory a plain object, {} at first, that `report` changes: the caller
   *   stores it BEFORE the message leaves the house, keeps it for good, and lets one tab at a time change
   *   it. It is laid out as the state of Python's client.
   * @param {{limit?: number | null, elsewhere?: number, random?: any}} options limit: the most epsilon that
   *   everything together may cost; `report` remembers it, drawn or refused, until it is told another or
   *   null, which is none; elsewhere: what other protocols have cost, which counts as well
   */
  constructor(collection, memory, { limit, elsewhere = 0, random = systemRandom() } = {}) {
    if (!(limit === null || (limit ?? 0) >= 0)) throw new Error("a limit is an epsilon from 0 on");
    this.collection = collection;
    this.memory = memory;
    this.limit = limit;
    this.elsewhere = elsewhere;
    this.random = random;
  }

  /** Before anything else: what is refused must not forget why. */
  _rememberLimit() {
    if (this.limit === null) delete this.memory.limit;
    else if (this.limit !== undefined) this.memory.limit = this.limit;
  }

  _checkLimit(spent, more) {
    const [{ limit = Infinity }, after] = [this.memory, this.elsewhere + spent + more];
    if (!(limit >= 0)) throw new Error("the limit is damaged");
    if (after > limit * (1 + 1e-9))
      throw new Error(
        `this report would take the epsilon of all to ${show(after)}, past your limit of ${show(limit)}; ` +
          "nothing was drawn or sent. The limit stays until you set another",
      );
  }
}

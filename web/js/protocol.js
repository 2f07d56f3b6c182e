/** What both protocols' messages have in common: fields, base64, digests, the announced scale. */
import { checkScale, nearest } from "./scale.js";

/**
 * Refuse an announced collection whose fields are not as the rules say. A rule is a list of choices,
 * {from, to} for a whole number, a number for a printable text of at most that length, null for anything.
 * @param {any} json
 * @param {Record<string, any[] | {from: number, to: number} | number | null>} rules
 */
export function checkFields(json, rules) {
  if (Object.prototype.toString.call(json) !== "[object Object]") throw new Error("collection: an object was expected");
  const names = Object.keys(rules);
  if (!Object.keys(json).every((name) => Object.hasOwn(rules, name)))
    throw new Error(`collection: a field that it does not have; it has ${names.join(", ")}`);
  for (const name of names) {
    const [rule, value] = [rules[name], json[name]];
    const [fits, wanted] =
      rule === null
        ? [true]
        : Array.isArray(rule)
          ? [rule.includes(value), `one of ${rule.join(", ")}`]
          : typeof rule === "object"
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

/** @param {string | Uint8Array} content */
export async function sha256(content) {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** SHA-256 in hexadecimal digits. */
export const digestOf = async (text) =>
  Array.from(await sha256(text), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * The scale that a collection announces: "1..5", "0.5..5/0.5" or "-10..10/continuous". Numbers of
 * ordinary size alone, since digests need Python's spelling of them.
 * @returns {import("./scale.js").Scale}
 */
export function readScale(text) {
  const [, lo, hi, ending] = /^([-.\d]+)\.\.([-.\d]+?)(\/.*)?$/.exec(text) ?? [];
  const step = ending === "/continuous" ? null : Number(ending?.slice(1) ?? 1);
  const scale = { lo: Number(lo), hi: Number(hi), step, presence: false };
  const ordinary = (x) => !x || (Math.abs(x) >= 1e-4 && Math.abs(x) < 1e6);
  const shown = { 1: "", null: "/continuous" }[step] ?? `/${step}${step % 1 ? "" : ".0"}`;
  if (`${scale.lo}..${scale.hi}${shown}` !== text || ![scale.lo, scale.hi, step].every(ordinary))
    throw new Error("collection: 'scale' should be like 1..5, 0.5..5/0.5 or -10..10/continuous");
  checkScale(scale);
  return scale;
}

/**
 * A person's ratings of items in this catalogue, brought onto an announced scale. It never objects to
 * a rating: that would tell the server something.
 * @param {{items: ArrayLike<number>, values: ArrayLike<number>}} own items rising
 */
export function ontoScale(own, scale, size) {
  const [items, values] = [Int32Array.from(own.items), Float64Array.from(own.values)];
  const rising = items.every((item, i) => item > (i ? items[i - 1] : -1) && item < size);
  if (!rising || values.length !== items.length || !values.every(Number.isFinite))
    throw new Error(`own ratings are finite numbers, beside rising catalogue indices below ${size}`);
  return { items, values: values.map((value) => nearest(scale, value)) };
}

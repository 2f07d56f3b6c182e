/** A release file, read and checked as docs/reference/file-format.md says: everything, every time. */
import { checkScale } from "./scale.js";

export const FORMAT = 1;

/**
 * @typedef {{ids: string[], titles: string[], origin: string, digest: string, columns?: Record<string, string[]>,
 *   find: (name: string) => number|undefined}} Catalog  `find` takes an id or a title; columns: a cell for each item, which
 *   may hold several values with | between them.
 * @typedef {{version: number, method: string, scale: import("./scale.js").Scale, guarantee: any,
 *   parameters: any, arrays: Record<string, {data: any, shape: number[]}>, catalog: Catalog,
 *   digest: string}} Release  The guarantee is as stated: its epsilons were not computed again. Arrays are
 *   views of the buffer where they can be; 64-bit integers are handed out as Float64Array.
 */

const TYPES = { F64: Float64Array, F32: Float32Array, I64: BigInt64Array, I32: Int32Array, U32: Uint32Array, U8: Uint8Array, I8: Int8Array };

// Type, axes ("^x": a triangle of x), the smallest value, and "index" of items that all differ, "rising" of those in order.
const CATALOG = { catalog_ids: "uint8 ids", catalog_id_ends: "uint32 items" };
const TITLES = { catalog_titles: "uint8 titles", catalog_title_ends: "uint32 items" };
const LEVELS = { item_effects: "float32 items", item_counts: "float32 items 0" };
const ITEMS = { ...LEVELS, item_effect_variances: "float32 items 0" };
const FACTORS = { ...ITEMS, factors: "float32 items,factors", factor_variances: "float32 items 0" };
const HEAD = "int32 head 0 index";
const PAIRS = "float32 ^head";
const MODEL = { global_mean: -Infinity, user_variance: 0, rating_variance: 1e-9 };
const LISTS = {
  list_popularity: "float32 items 0",
  list_start: "float32 items",
  list_gain: "float32 items 0",
  list_head: "int32 rows 0 rising",
  list_rows: "int8 rows,rank",
  list_scales: "float32 rank 0",
  list_tail: "float32 items",
  list_axis: "float32 rank",
};
const BUCKETS = {
  ...LEVELS,
  bucket_sizes: "int32 buckets 0",
  bucket_raters: "int32 buckets 0",
  bucket_fakes: "float32 buckets 0",
  bucket_fake_means: "float32 buckets",
  bucket_ends: "int64 buckets 0",
  bucket_items: "int32 entries 0",
  bucket_sums: "float32 entries",
  bucket_counts: "int32 entries 1",
};
const CLUSTERS = [BUCKETS, { global_mean: -Infinity, bits: 1, thin: 0, fake_percent: 0, popular_share: 0 }];
// Arrays, the smallest values of parameters; arrays that are there all or none, their parameters.
const METHODS = {
  refined: [FACTORS, MODEL, LISTS],
  lists: [{ item_counts: LEVELS.item_counts, ...LISTS }, {}],
  covariance: [FACTORS, MODEL, { head: HEAD, covariance: PAIRS, weights: PAIRS },
    ["covariance_noise", "weights_noise"]],
  "slope-one": [ITEMS, MODEL, { head: HEAD, differences: PAIRS, pair_weights: PAIRS },
    ["difference_noise", "pair_noise"]],
  cosine: [ITEMS, MODEL, { head: HEAD, products: PAIRS, squares: "float32 head" },
    ["product_noise", "square_noise"]],
  "open-clusters": CLUSTERS,
  "closed-clusters": CLUSTERS,
};

const UNITS = ["rating", "user", "user-day", "user-week", "user-month"];
const utf8 = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * @param {ArrayBuffer} buffer The whole file. @returns {Promise<Release>}
 * @throws {Error} One line that says why this is no release that can be used.
 */
export async function readRelease(buffer) {
  const { metadata, tensors } = readContainer(buffer);
  const version = checkVersion(metadata);
  const { digest, ...others } = metadata;
  // By which names are ordered.
  const bytes = (name) => String.fromCharCode(...utf8.encode(name));
  const names = Object.keys(others).sort((one, other) => (bytes(one) < bytes(other) ? -1 : 1));
  const entries = names.flatMap((name) => [name, others[name]]);
  need(digest === (await sha256(withLengths("", entries, true))), "its header does not match its digest");
  await checkTensors(field(metadata, "tensors"), tensors);
  const [scale, about, guarantee, parameters] =
    ["scale", "catalog", "guarantee", "parameters"].map((name) => field(metadata, name));
  attempt(() => checkScale(scale), "its scale is wrong");
  checkGuarantee(guarantee);
  const { method } = metadata;
  if (!Object.hasOwn(METHODS, method ?? "")) refuse(`is of an unknown method, '${method}'`);
  checkLayout(method, about, parameters, tensors);
  const catalog = await readCatalog(tensors, about);
  const kept = Object.entries(tensors).filter(([name]) => !name.startsWith("catalog_"));
  const arrays = Object.fromEntries(kept.map(([name, { data, shape }]) => [name, { data, shape }]));
  Object.assign(scale, { step: 1, presence: false, ...scale });
  return { version, method, scale, guarantee, parameters, arrays, catalog, digest };
}

function refuse(reason) {
  throw new Error(`the release ${reason}`);
}

const need = (fine, reason) => fine || refuse(`is damaged: ${reason}`);

function attempt(act, reason) {
  try {
    return act();
  } catch {
    return need(false, reason);
  }
}

const isObject = (value) => value === Object(value) && !Array.isArray(value);
/** Whether this is a list of texts. @param {any} list */
export const areTexts = (list) => Array.isArray(list) && list.every((text) => typeof text === "string");
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

/** SHA-256 of some bytes or a text, in hexadecimal digits. */
export async function sha256(content) {
  const bytes = typeof content === "string" ? utf8.encode(content) : content;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function readContainer(buffer) {
  const size = buffer.byteLength;
  if (size < 9 || new Uint8Array(buffer)[8] !== 0x7b) refuse("is no safetensors file");
  const begin = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  need(begin <= size, "it ends inside its header");
  const text = new Uint8Array(buffer, 8, begin - 8);
  const { __metadata__: metadata = {}, ...entries } = attempt(
    () => JSON.parse(strict.decode(text)), "its header cannot be read");
  need(isObject(metadata) && areTexts(Object.values(metadata)), "its header is not that of a safetensors file");
  const tensors = Object.create(null);
  const places = Object.entries(entries).map(([name, entry]) => placeOf(name, entry));
  checkCoverage(places, size - begin);
  for (const { name, type, kind, shape, first, last } of places) {
    const [bytes, at] = [kind.BYTES_PER_ELEMENT, begin + first];
    const data = at % bytes ? new kind(buffer.slice(at, begin + last)) : new kind(buffer, at, (last - first) / bytes);
    tensors[name] = { type, data, shape };
  }
  return { metadata, tensors };
}

function placeOf(name, entry) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  const kind = Object.hasOwn(TYPES, dtype) && TYPES[dtype];
  const lists = kind && Array.isArray(shape) && Array.isArray(offsets) && offsets.length === 2;
  const bytes = lists && shape.reduce((product, length) => product * length, kind.BYTES_PER_ELEMENT);
  need(lists && [...shape, ...offsets].every(isCount) && offsets[1] - offsets[0] === bytes,
    `its header is wrong about '${name.slice(0, 40)}'`);
  return { name, type: kind.name.toLowerCase().replace(/big|array/g, ""), kind, shape, first: offsets[0], last: offsets[1] };
}

/** Arrays follow each other and fill the data: nothing hides or is missing. */
function checkCoverage(places, size) {
  let expected = 0;
  for (const { first, last } of places.sort((a, b) => a.first - b.first || a.last - b.last)) {
    need(first === expected, "its arrays overlap or leave gaps");
    expected = last;
  }
  need(size >= expected, `it is cut short: ${expected - size} bytes are missing`);
  need(size <= expected, `${size - expected} bytes follow its end`);
}

function checkVersion({ discreet_release: version }) {
  if (version === undefined) refuse("is none: the file holds something else");
  need(/^\d{1,9}$/.test(version) && version >= 1, "its format version is not a number");
  if (version > FORMAT)
    refuse(`has format ${version}, newer than this page reads (${FORMAT}): load the page again`);
  return Number(version);
}

/** A mark, then texts, each after its length as 64 bits; written in place, because there may be millions of them. */
function withLengths(mark, texts, littleEndian) {
  // No unit of a string takes more than three bytes.
  const out = new Uint8Array(texts.reduce((size, text) => size + 8 + 3 * text.length, mark.length));
  const view = new DataView(out.buffer);
  let at = utf8.encodeInto(mark, out).written;
  for (const text of texts) {
    const { written } = utf8.encodeInto(text, out.subarray(at + 8));
    view.setBigUint64(at, BigInt(written), littleEndian);
    at += 8 + written;
  }
  return out.subarray(0, at);
}

/** What two parties compare: do they speak of the same items? */
export const catalogDigest = (ids, titles) => sha256(withLengths("discreet catalogue 1\n", [...ids, ...titles], false));

function field(metadata, name) {
  const value = attempt(() => JSON.parse(metadata[name]), `its ${name} cannot be read`);
  need(isObject(value), `its ${name} cannot be read`);
  return value;
}

/** The arrays are those that the metadata lists, to the byte. */
async function checkTensors(stated, tensors) {
  const names = Object.keys(tensors);
  need(names.length === Object.keys(stated).length && names.every((name) => stated[name]),
    "it does not hold the arrays that it lists");
  await Promise.all(names.map(async (name) => {
    const tensor = tensors[name];
    const { dtype, shape, sha256: digest } = stated[name];
    need(dtype === tensor.type && Array.isArray(shape) && shape.join() === tensor.shape.join(),
      `array '${name}' has not the type and shape it should`);
    need(digest === (await sha256(tensor.data)), `array '${name}' does not match its digest`);
    if (tensor.type === "int64") tensor.data = Float64Array.from(tensor.data, Number);
  }));
}

function checkGuarantee({ unit, epsilon, delta, events, assumes, not_private: none, words }) {
  const fine = UNITS.includes(unit) && [[words], assumes, none].every(areTexts);
  need(fine && Array.isArray(events) && Number.isFinite(delta) && delta >= 0 && delta < 1,
    "its guarantee has wrong fields");
  need(none.length ? epsilon === null : Number.isFinite(epsilon) && epsilon >= 0 && events.length,
    "its guarantee does not say what was spent");
}

/** Arrays and parameters are those of the method. */
function checkLayout(method, { items, columns = [] }, parameters, tensors) {
  const [always, limits, together = {}, needs = []] = METHODS[method];
  const layout = { ...CATALOG, ...always };
  for (const group of [TITLES, together])
    if (Object.keys(group).some((name) => name in tensors)) Object.assign(layout, group);
  need(areTexts(columns) && new Set(["", ...columns]).size > columns.length, "its catalogue's columns do not have a name each");
  columns.forEach((_, i) => Object.assign(layout, { [`catalog_column_${i}`]: `uint8 column${i}`, [`catalog_column_${i}_ends`]: "uint32 items" }));
  const least = { ...limits };
  if (layout.head) for (const name of needs) least[name] = 0;
  for (const [name, smallest] of Object.entries(least))
    need(Number.isFinite(parameters[name]) && parameters[name] >= smallest,
      `parameter '${name}' must be a number from ${smallest} on`);
  for (const name in tensors)
    need(Object.hasOwn(layout, name), `array '${name}' does not belong to method '${method}'`);
  const lengths = { items };
  for (const [name, spec] of Object.entries(layout)) {
    need(tensors[name], `array '${name}' is missing`);
    const { type, data, shape } = tensors[name];
    const [expected, axes, smallest = -Infinity, index] = spec.split(" ");
    need(type === expected, `array '${name}' has type ${type}, not ${expected}`);
    const found = axes.split(",").map((axis, i) => {
      const side = (lengths[axis.replace("^", "")] ??= shape[i]);
      return axis[0] === "^" ? (side * (side + 1)) / 2 : side;
    });
    need(found.join() === shape.join(), `array '${name}' has shape ${shape}, not ${found}`);
    checkValues(name, data, Number(smallest), index ? items : Infinity);
    need(!index || new Set(data).size === data.length, `array '${name}' names an item more than once`);
    need(index !== "rising" || data.every((item, i) => !(item < data[i - 1])), `array '${name}' is not in the catalogue's order`);
  }
}

function checkValues(name, data, least, below) {
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    if (value - value !== 0) need(false, `array '${name}' holds a value that is not a finite number`);
    if (value < least) need(false, `array '${name}' holds a value below ${least}`);
    if (value >= below) need(false, `array '${name}' points past the catalogue of ${below} items`);
  }
}

async function readCatalog(tensors, { items, origin, digest, columns: names = [] }) {
  need(items > 0, "its catalogue has no items");
  need(["given", "layout", "from-data"].includes(origin), "its catalogue does not say where it is from");
  const texts = (name, mark = "s") => decodeTexts(tensors[`catalog_${name}${mark}`].data, tensors[`catalog_${name}_ends`].data);
  const ids = texts("id");
  const titles = tensors.catalog_titles ? texts("title") : ids;
  need(digest === (await catalogDigest(ids, titles)), "its catalogue does not match its digest");
  const find = placesOf(ids, titles);
  const isOwn = (name, i) => find(name) === i;
  need(ids.every(isOwn), "its catalogue lists an id twice");
  need(titles.every(isOwn), "in its catalogue a title means two items");
  const columns = Object.fromEntries(names.map((name, i) => [name, texts(`column_${i}`, "")]));
  return { ids, titles, origin, digest, columns, find };
}

/**
 * The place of an item by its id or else its title. Not by the bare texts: V8 is very slow with a million keys like "1234567".
 * @param {string[]} ids @param {string[]} titles @returns {(name: string) => number|undefined}
 */
export function placesOf(ids, titles) {
  const at = new Map();
  for (const names of [titles, ids]) names.forEach((name, i) => at.set("=" + name, i));
  return (name) => at.get("=" + name);
}

/** Texts from their UTF-8 bytes end to end, and the byte after each one's last. */
function decodeTexts(bytes, ends) {
  const whole = attempt(() => strict.decode(bytes), "its catalogue's texts are not UTF-8");
  const astray = "its catalogue's texts do not end where it says";
  let [at, unit] = [0, 0];
  const texts = Array.from(ends, (end) => {
    const begin = unit;
    // A character takes two of a string's units if it takes four bytes, else one.
    for (; at < end && at < bytes.length; at++)
      if ((bytes[at] & 0xc0) !== 0x80) unit += bytes[at] >= 0xf0 ? 2 : 1;
    need(at === end && (bytes[at] & 0xc0) !== 0x80, astray);
    return whole.slice(begin, unit);
  });
  need(at === bytes.length, astray);
  return texts;
}

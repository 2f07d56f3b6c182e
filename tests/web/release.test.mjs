// A release is read whole, and whatever is not as it should be is refused in one line.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";

import { FORMAT, readRelease } from "../../web/js/release.js";
import { bufferOf, cases, putTogether, takeApart } from "./_releases.mjs";

const fileOf = (wanted) => cases.find(({ name }) => name === wanted).file;
const HEAD = fileOf("covariance, head");

async function refused(file, reason) {
  await assert.rejects(readRelease(file), (error) => {
    assert.ok(error instanceof Error && error.constructor === Error, `${error}`);
    assert.match(error.message, reason);
    assert.match(error.message, /^the release [^\n]+$/);
    return true;
  });
}

/** A file in which something was changed, and every digest computed again. */
function changed(change, file = HEAD) {
  const parts = takeApart(file);
  change(parts);
  return putTogether(parts);
}

const told = (name, change) => ({ metadata }) => {
  const value = JSON.parse(metadata[name]);
  metadata[name] = JSON.stringify(change(value) ?? value);
};

test("every golden release is read", async () => {
  for (const { name, file } of cases) {
    const release = await readRelease(file);
    const { metadata, arrays } = takeApart(file);
    assert.equal(release.version, FORMAT, name);
    assert.equal(release.method, metadata.method);
    assert.equal(release.digest, metadata.digest);
    assert.deepEqual(release.parameters, JSON.parse(metadata.parameters));
    assert.deepEqual(release.guarantee, JSON.parse(metadata.guarantee));
    assert.deepEqual(release.scale, { presence: false, ...JSON.parse(metadata.scale) });
    const names = Object.keys(arrays).filter((one) => !one.startsWith("catalog_"));
    assert.deepEqual(Object.keys(release.arrays).sort(), names.sort());
    for (const one of names) {
      assert.deepEqual(release.arrays[one].shape, arrays[one].shape);
      const { data } = release.arrays[one];
      const back = arrays[one].dtype === "I64" ? BigInt64Array.from(data, BigInt) : data;
      assert.deepEqual(Buffer.from(back.buffer, back.byteOffset, back.byteLength), arrays[one].bytes);
    }
  }
});

test("the catalogue's texts", async () => {
  const { catalog } = await readRelease(HEAD);
  assert.deepEqual(catalog.ids.slice(0, 3), ["1", "4", "7"]);
  assert.deepEqual(catalog.titles.slice(0, 5), ["Alien 1", "Amélie 1", "七人の侍 1", "Pingu 🐧 1", "Alien 2"]);
  assert.equal(catalog.origin, "given");
  assert.equal(catalog.digest, JSON.parse(takeApart(HEAD).metadata.catalog).digest);
  assert.deepEqual(["七人の侍 1", "7", "nothing"].map(catalog.find), [2, 2, undefined]);
  const untitled = await readRelease(fileOf("slope-one, exact"));
  assert.equal(untitled.catalog.titles, untitled.catalog.ids);
});

test("arrays are views of the file; at odd addresses they are copies", async () => {
  const { arrays } = await readRelease(HEAD);
  assert.equal(arrays.factors.data.buffer, HEAD);
  for (const pad of [0, 1, 2, 3, 4, 5, 6, 7]) {
    const other = await readRelease(putTogether(takeApart(HEAD), { pad }));
    for (const name in arrays) assert.deepEqual(other.arrays[name].data, arrays[name].data);
  }
});

test("changes that mean nothing are no damage", async () => {
  const names = { "\u{10000}": "further", "\uffff": "entries", digits: "0" };
  await readRelease(changed(({ metadata }) => Object.assign(metadata, names)));
  await readRelease(changed(told("parameters", (p) => ({ ...p, "what the fit was told": [1] }))));
  await readRelease(changed(({ arrays }) => {
    for (const name of ["head", "covariance", "weights"]) delete arrays[name];
  }));
});

test("damaged bytes are noticed wherever they are", async () => {
  let refusals = 0;
  const places = Array.from({ length: Math.floor(HEAD.byteLength / 7) }, (_, i) => 7 * i);
  const good = await readRelease(HEAD);
  for (const place of places) {
    const bytes = new Uint8Array(HEAD.slice(0));
    bytes[place] ^= 1 << place % 8;
    try {
      const same = await readRelease(bytes.buffer);
      same.catalog.find = good.catalog.find;
      assert.deepEqual(same, good);
    } catch (error) {
      assert.match(error.message, /^the release [^\n]+$/);
      refusals++;
    }
  }
  assert.ok(refusals > 0.99 * places.length);
});

test("what is cut short or too long is noticed", async () => {
  for (let length = 0; length < HEAD.byteLength; length += 53) {
    await refused(HEAD.slice(0, length), /no safetensors|inside its header|cannot be read|missing/);
  }
  await refused(HEAD.slice(0, HEAD.byteLength - 1), /cut short: 1 bytes are missing/);
  await refused(bufferOf([...new Uint8Array(HEAD), 0]), /1 bytes follow its end/);
});

test("what is no container is refused", async () => {
  const container = (text, ...data) => {
    const raw = Buffer.from(text);
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(raw.length));
    return bufferOf(Buffer.concat([length, raw, Buffer.from(data)]));
  };
  const one = (entry) => container(JSON.stringify({ x: entry }), 1, 2, 3, 4);
  const right = { dtype: "F32", shape: [1], data_offsets: [0, 4] };
  await refused(container("[1, 2, 3]"), /no safetensors/);
  await refused(container("{nonsense}"), /header cannot be read/);
  await refused(container('{"a": "\xff'), /header cannot be read/);
  await refused(container('{"__metadata__": {"discreet_release": 1}}'), /header is not that/);
  await refused(container('{"__metadata__": ["1"]}'), /header is not that/);
  await refused(one(right), /holds something else/);
  for (const wrong of [
    { dtype: "F16" }, { dtype: "constructor" }, { dtype: null }, { shape: [2] }, { shape: [0.5] }, { shape: "1" },
    { shape: [-1] }, { shape: undefined }, { data_offsets: [0] }, { data_offsets: [0, 8] },
    { data_offsets: [-4, 0] }, { data_offsets: [0, 4, 4] }, { data_offsets: "04" },
  ]) {
    await refused(one({ ...right, ...wrong }), /header is wrong about 'x'/);
  }
  await refused(one(null), /header is wrong about 'x'/);
  const gap = { x: { ...right, data_offsets: [4, 8] } };
  await refused(container(JSON.stringify(gap), 0, 0, 0, 0, 1, 2, 3, 4), /overlap or leave gaps/);
  await refused(container(JSON.stringify({ x: right, y: right }), 1, 2, 3, 4), /overlap or leave gaps/);
});

test("versions", async () => {
  const version = (text) => changed(({ metadata }) => (metadata.discreet_release = text));
  await refused(version("2"), /has format 2, newer than this page reads \(1\)/);
  for (const text of ["", "one", "0", "-1", "1.0", "1e0", " 1", "1".repeat(10)])
    await refused(version(text), /format version is not a number/);
  await refused(changed(({ metadata }) => delete metadata.discreet_release), /holds something else/);
  // The version is looked at before anything else can be relied on.
  const newer = takeApart(HEAD);
  newer.metadata = { discreet_release: "7" };
  await refused(putTogether(newer, { honest: false }), /format 7/);
});

test("digests", async () => {
  const dishonest = (change) => {
    const parts = takeApart(HEAD);
    change(parts);
    return putTogether(parts, { honest: false });
  };
  await refused(dishonest(({ metadata }) => (metadata.method += " ")), /header does not match its digest/);
  await refused(dishonest(({ metadata }) => delete metadata.digest), /header does not match its digest/);
  await refused(dishonest(({ metadata }) => (metadata.more = "")), /header does not match its digest/);
  await refused(dishonest(({ arrays }) => (arrays.factors.bytes[5] ^= 1)), /'factors' does not match its digest/);
  await refused(dishonest(({ arrays }) => (arrays.catalog_ids.bytes[0] ^= 1)), /'catalog_ids' does not match/);
  await refused(dishonest(({ arrays }) => (arrays.factors.shape = [72])), /'factors' has not the type and shape/);
  await refused(dishonest(({ arrays }) => (arrays.head.dtype = "F32")), /'head' has not the type and shape/);
  await refused(dishonest(({ arrays }) => delete arrays.head), /does not hold the arrays that it lists/);
  await refused(changed(told("catalog", (c) => void (c.digest = "0".repeat(64)))), /catalogue does not match/);
});

test("fields", async () => {
  for (const name of ["scale", "catalog", "guarantee", "parameters"]) {
    await refused(changed(({ metadata }) => delete metadata[name]), new RegExp(`its ${name} cannot be read`));
    for (const text of ["", "[]", "null", "3", "{"])
      await refused(changed(({ metadata }) => (metadata[name] = text)), new RegExp(`its ${name} cannot be read`));
  }
  await refused(changed(told("scale", (s) => void (s.lo = 9))), /scale is wrong/);
  await refused(changed(told("scale", (s) => void (s.step = "1"))), /scale is wrong/);
  await refused(changed(told("scale", (s) => void (s.colour = 1))), /scale is wrong/);
  await refused(changed(({ metadata }) => (metadata.method = "toString")), /unknown method, 'toString'/);
  await refused(changed(({ metadata }) => delete metadata.method), /unknown method/);
  for (const [name, value] of [["unit", "year"], ["delta", null], ["delta", 1], ["events", {}],
    ["assumes", [1]], ["not_private", "no"], ["words", undefined]])
    await refused(changed(told("guarantee", (g) => void (g[name] = value))), /guarantee has wrong fields/);
  for (const unit of ["user", "user-day", "user-week", "user-month"])
    assert.equal((await readRelease(changed(told("guarantee", (g) => void (g.unit = unit))))).guarantee.unit, unit);
  await refused(changed(told("guarantee", (g) => void (g.events = []))), /what was spent/);
  for (const epsilon of [null, "1", -1])
    await refused(changed(told("guarantee", (g) => void (g.epsilon = epsilon))), /what was spent/);
  await refused(changed(told("guarantee", (g) => void (g.not_private = ["why"]))), /what was spent/);
});

test("parameters", async () => {
  const parameter = (name, value) => changed(told("parameters", (p) => void (p[name] = value)));
  for (const value of [undefined, null, true, "3", [3]])
    await refused(parameter("global_mean", value), /'global_mean' must be a number/);
  await refused(parameter("user_variance", -1), /'user_variance' must be a number from 0 on/);
  await refused(parameter("rating_variance", 0), /'rating_variance' must be a number from 1e-9 on/);
  await refused(parameter("covariance_noise", undefined), /'covariance_noise' must be a number/);
  const huge = changed(({ metadata }) => {
    metadata.parameters = metadata.parameters.replace(/"global_mean": ?[^,}]+/, '"global_mean":1e999');
  });
  await refused(huge, /'global_mean' must be a number/);
});

test("arrays that are missing, foreign or of the wrong kind", async () => {
  const array = (name, change) => changed(({ arrays }) => change(arrays[name], arrays));
  await refused(array("factors", (_, all) => delete all.factors), /'factors' is missing/);
  await refused(array("head", (_, all) => delete all.head), /'head' is missing/);
  await refused(array("head", (head, all) => (all.other = head)), /'other' does not belong to method 'covariance'/);
  await refused(array("head", (head, all) => (all.toString = head)), /'toString' does not belong/);
  await refused(array("item_effects", (one) => (one.dtype = "I32")), /'item_effects' has type int32, not float32/);
  await refused(array("item_effects", (one) => (one.shape = [24, 1])), /'item_effects' has shape 24,1, not 24/);
  const shorter = (one) => Object.assign(one, { shape: [23], bytes: one.bytes.subarray(4) });
  await refused(array("item_effects", shorter), /'item_effects' has shape 23, not 24/);
  const cut = (one) => Object.assign(one, { shape: [119], bytes: one.bytes.subarray(4) });
  await refused(array("covariance", cut), /'covariance' has shape 119, not 120/);
  await refused(array("catalog_ids", (_, all) => delete all.catalog_ids), /'catalog_ids' is missing/);
  await refused(array("catalog_titles", (_, all) => delete all.catalog_titles), /'catalog_titles' is missing/);
  await refused(array("catalog_id_ends", (one) => (one.dtype = "I32")), /'catalog_id_ends' has type int32, not uint32/);
  await refused(array("catalog_id_ends", shorter), /'catalog_id_ends' has shape 23, not 24/);
  await refused(array("catalog_title_ends", shorter), /'catalog_title_ends' has shape 23, not 24/);
  const nothing = changed((parts) => {
    for (const one of Object.values(parts.arrays))
      Object.assign(one, { shape: one.shape.map(() => 0), bytes: Buffer.alloc(0) });
    told("catalog", (c) => void (c.items = 0))(parts);
  });
  await refused(nothing, /catalogue has no items/);
});

test("values", async () => {
  const value = (name, write, file) => changed(({ arrays }) => write(arrays[name].bytes), file);
  const single = (number, at = 0) => (bytes) => bytes.writeFloatLE(number, at);
  for (const number of [NaN, Infinity, -Infinity])
    await refused(value("factors", single(number, 40)), /'factors' holds a value that is not a finite number/);
  await refused(value("item_counts", single(-1, 4)), /'item_counts' holds a value below 0/);
  await refused(value("head", (bytes) => bytes.writeInt32LE(24)), /'head' points past the catalogue of 24 items/);
  await refused(value("head", (bytes) => bytes.writeInt32LE(-1)), /'head' holds a value below 0/);
  await refused(value("head", (bytes) => bytes.copy(bytes, 0, 4, 8)), /'head' names an item more than once/);
  const clusters = fileOf("closed-clusters");
  const ends = value("bucket_ends", (bytes) => bytes.writeBigInt64LE(-1n), clusters);
  await refused(ends, /'bucket_ends' holds a value below 0/);
  const counts = value("bucket_counts", (bytes) => bytes.writeInt32LE(0), clusters);
  await refused(counts, /'bucket_counts' holds a value below 1/);
});

test("the lists section: all of it or none, and in order", async () => {
  const [both, bare] = [fileOf("refined, lists"), fileOf("lists")];
  const array = (name, change, file = both) => changed(({ arrays }) => change(arrays[name], arrays), file);
  const without = (name) => (_, all) => delete all[name];
  await refused(array("", without("list_rows")), /'list_rows' is missing/);
  await refused(array("", without("list_axis"), bare), /'list_axis' is missing/);
  await refused(array("", without("item_counts"), bare), /'item_counts' is missing/);
  const none = (_, all) => Object.keys(all).forEach((name) => name.startsWith("list_") && delete all[name]);
  assert.equal("list_start" in (await readRelease(array("", none))).arrays, false);
  await refused(array("", none, bare), /'list_popularity' is missing/);
  await refused(array("list_rows", (one) => (one.dtype = "U8")), /'list_rows' has type uint8, not int8/);
  await refused(array("list_rows", (one) => one.shape.reverse()), /'list_rows' has shape 6,9, not 9,/);
  for (const name of ["list_gain", "list_popularity", "list_scales"])
    await refused(array(name, ({ bytes }) => bytes.writeFloatLE(-1)), new RegExp(`'${name}' holds a value below 0`));
  await refused(array("list_head", ({ bytes }) => bytes.writeInt32LE(25)), /'list_head' points past the catalogue of 25/);
  await refused(array("list_head", ({ bytes }) => bytes.copy(bytes, 0, 4, 8)), /'list_head' names an item more than once/);
  await refused(array("list_head", ({ bytes }) => bytes.writeInt32LE(24)), /'list_head' is not in the catalogue's order/);
  const { data } = (await readRelease(both)).arrays.list_rows;
  assert.ok(data instanceof Int8Array && data.some((one) => one < 0));
});

test("columns of the catalogue", async () => {
  const small = fileOf("refined, no factors");
  assert.deepEqual((await readRelease(small)).catalog.columns, {});
  const cells = [..."abcdefgh", "Comédie|Sci-Fi 🐧"];
  const put = (names, texts = cells, change = () => {}) => changed((parts) => {
    told("catalog", (c) => void (c.columns = names))(parts);
    const raws = texts.map((text) => Buffer.from(text));
    let at = 0;
    const ends = Uint32Array.from(raws, (raw) => (at += raw.length));
    for (let i = 0; i < names.length; i++) {
      parts.arrays[`catalog_column_${i}`] = { dtype: "U8", shape: [at], bytes: Buffer.concat(raws) };
      parts.arrays[`catalog_column_${i}_ends`] = { dtype: "U32", shape: [ends.length], bytes: Buffer.from(ends.buffer) };
    }
    change(parts.arrays);
  }, small);
  const { catalog, arrays } = await readRelease(put(["genres", "__proto__"]));
  assert.deepEqual(Object.entries(catalog.columns), [["genres", cells], ["__proto__", cells]]);
  assert.ok(Object.keys(arrays).every((name) => !name.startsWith("catalog")));
  await refused(put(["genres", "genres"]), /do not have a name each/);
  await refused(put([""]), /do not have a name each/);
  await refused(put([7]), /do not have a name each/);
  await refused(put("genres"), /do not have a name each/);
  await refused(put(["genres"], cells.slice(1)), /'catalog_column_0_ends' has shape 8, not 9/);
  await refused(put(["genres"], cells, (all) => delete all.catalog_column_0), /'catalog_column_0' is missing/);
  await refused(put(["genres"], cells, (all) => (all.catalog_column_1 = all.catalog_column_0)), /does not belong/);
  await refused(put(["genres"], cells, (all) => (all.catalog_column_0.bytes[0] = 0xff)), /not UTF-8/);
});

test("catalogues", async () => {
  const catalog = (change) =>
    changed(({ arrays }) => change(arrays.catalog_ids.bytes, arrays.catalog_id_ends.bytes));
  await refused(changed(told("catalog", (c) => void (c.items = 25))), /'catalog_id_ends' has shape 24, not 25/);
  await refused(changed(told("catalog", (c) => void (c.origin = "elsewhere"))), /where it is from/);
  await refused(catalog((ids) => (ids[0] = 0xff)), /not UTF-8/);
  await refused(catalog((_, ends) => ends.writeUInt32LE(9, 4)), /do not end where/);
  await refused(catalog((_, ends) => ends.writeUInt32LE(9999, 23 * 4)), /do not end where/);
  await refused(catalog((_, ends) => ends.writeUInt32LE(ends.readUInt32LE(23 * 4) - 1, 23 * 4)), /do not end where/);
  // In the middle of "é".
  const inside = ({ arrays }) => arrays.catalog_title_ends.bytes.writeUInt32LE(10, 0);
  await refused(changed(inside), /do not end where/);
  const small = fileOf("refined, no factors");
  const renamed = (ids, titles) => changed((parts) => rename(parts, ids, titles), small);
  const nine = [..."abcdefghi"];
  await readRelease(renamed(nine, [..."bbbdefghi"].map((one, i) => `${one}${i}`)));
  await readRelease(renamed(nine, [...nine]));
  await refused(renamed([..."aacdefghi"], nine), /an id twice/);
  await refused(renamed(nine, [..."ABCDEFGHH"]), /a title means two items/);
  await refused(renamed(nine, [..."bBCDEFGHI"]), /a title means two items/);
});

/** Another catalogue, with its right digest. */
function rename({ arrays, metadata }, ids, titles) {
  const put = (name, texts) => {
    const raws = texts.map((text) => Buffer.from(text));
    let at = 0;
    const ends = Uint32Array.from(raws, (raw) => (at += raw.length));
    Object.assign(arrays[`catalog_${name}s`], { shape: [at], bytes: Buffer.concat(raws) });
    arrays[`catalog_${name}_ends`].bytes = Buffer.from(ends.buffer);
  };
  put("id", ids);
  put("title", titles);
  const sha = createHash("sha256").update("discreet catalogue 1\n");
  for (const text of [...ids, ...titles]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
    sha.update(length).update(text);
  }
  metadata.catalog = JSON.stringify({ ...JSON.parse(metadata.catalog), digest: sha.digest("hex") });
}

test("where a release comes from, and what a newer version adds, is no error", async () => {
  const provenance = { version: "0.2.0", part: null, charge: { number: 3, population: "customers" } };
  const file = changed((parts) => {
    told("guarantee", (guarantee) => ({ ...guarantee, provenance }))(parts);
    parts.metadata.something_new = "{}";
  });
  assert.deepEqual((await readRelease(file)).guarantee.provenance, provenance);
});

// The golden releases, and ways to change a release file.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

const FILE = new URL("../vectors/predictions.json", import.meta.url);

/** Cases as tests/vectors/make_predictions.py describes them, with `file` as an ArrayBuffer. */
export const cases = JSON.parse(readFileSync(FILE, "utf8")).cases.map((one) => ({
  ...one,
  file: bufferOf(inflateSync(Buffer.from(one.release, "base64"))),
}));

/** An ArrayBuffer of its own with these bytes. */
export function bufferOf(bytes) {
  return Uint8Array.from(bytes).buffer;
}

/** Numbers from little-endian base64. */
export function numbersOf(text, kind) {
  return new kind(bufferOf(Buffer.from(text, "base64")));
}

export function ownOf({ items, values }) {
  return { items: Int32Array.from(items), values: Float64Array.from(values) };
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const length = (value) => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
};

/** The parts of a release file: texts, and for each array its type, shape and bytes. */
export function takeApart(file) {
  const bytes = Buffer.from(file);
  const begin = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: metadata, ...entries } = JSON.parse(bytes.subarray(8, begin).toString());
  const arrays = Object.entries(entries).map(([name, { dtype, shape, data_offsets: [first, last] }]) => [
    name,
    { dtype, shape, bytes: Buffer.from(bytes.subarray(begin + first, begin + last)) },
  ]);
  return { metadata, arrays: Object.fromEntries(arrays) };
}

const NAMES = { F64: "float64", F32: "float32", I64: "int64", I32: "int32", U32: "uint32", U8: "uint8", I8: "int8" };

/** A release file of such parts. Digests are computed again, unless `honest` says which are not. */
export function putTogether({ metadata, arrays }, { honest = true, pad = 0 } = {}) {
  const header = {};
  let at = 0;
  const tensors = {};
  for (const [name, { dtype, shape, bytes }] of Object.entries(arrays)) {
    header[name] = { dtype, shape, data_offsets: [at, (at += bytes.length)] };
    tensors[name] = { dtype: NAMES[dtype], shape, sha256: sha256(bytes) };
  }
  const told = { ...metadata };
  if (honest) {
    told.tensors = JSON.stringify(tensors);
    const sha = createHash("sha256");
    const names = Object.keys(told).filter((name) => name !== "digest");
    names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const text of names.flatMap((name) => [name, told[name]])) {
      sha.update(length(Buffer.byteLength(text))).update(text);
    }
    told.digest = sha.digest("hex");
  }
  const text = Buffer.from(JSON.stringify({ ...header, __metadata__: told }) + " ".repeat(pad));
  return bufferOf(Buffer.concat([length(text.length), text, ...Object.values(arrays).map((a) => a.bytes)]));
}

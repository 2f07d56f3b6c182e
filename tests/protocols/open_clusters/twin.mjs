// The cluster hash as the browser computes it: reads the golden cases on standard input and prints the
// hash values and the vectors' digests that it finds.
import { createHash } from "node:crypto";

import { makeHash } from "../../../web/js/cluster_hash.js";

function catalogDigest(ids, titles) {
  const sha = createHash("sha256").update("discreet catalogue 1\n");
  for (const text of [...ids, ...titles]) {
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
    sha.update(size).update(text);
  }
  return sha.digest("hex");
}

let text = "";
for await (const chunk of process.stdin) text += chunk;
const answers = [];
for (const { ids, titles, items, bits, hash: kind, beacon, people } of JSON.parse(text).cases) {
  const names = ids ?? Array.from({ length: items }, (_, i) => String(i));
  const digest = catalogDigest(names, titles ?? names);
  const hash = await makeHash({ digest, items: names.length, bits, kind, beacon });
  const sha = createHash("sha256");
  hash.vectors.forEach((q) => sha.update(new Uint8Array(q.buffer)));
  const values = people.map((person) => hash.value(person.items, person.codes));
  answers.push({ catalog: digest, vectors: sha.digest("hex"), values });
}
console.log(JSON.stringify(answers));

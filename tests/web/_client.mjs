// Runs the browser's protocol clients with the system's randomness: jobs as JSON on standard input,
// {items, collection, own, memory, options} each; prints the message and the memory of each.
import * as local from "../../web/js/local_reports.js";
import * as open from "../../web/js/open_clusters.js";
import { catalogOf } from "./_protocols.mjs";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const answers = [];
for (const { items, collection, own, memory, options } of JSON.parse(text)) {
  const isLocal = collection.protocol === "local-reports";
  const terms = await (isLocal ? local : open).readCollection(collection, catalogOf(items));
  const popularity = Float64Array.from({ length: items }, (_, i) => i);
  const Client = isLocal ? local.LocalClient : open.OpenClient;
  const client = new Client(terms, memory, { popularity, ...options });
  const message = await client.report({ items: own[0], values: own[1] });
  answers.push({ message, memory: client.memory });
}
console.log(JSON.stringify(answers));

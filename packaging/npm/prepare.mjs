// Copy the page's modules that the package consists of, with all that they import, to ./js.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [FROM, TO] = ["../../web/js/", "./js/"].map((place) => new URL(place, import.meta.url));
const IMPORT = /(?:from|import)\s+"(\.[^"]+)"/g;

rmSync(TO, { recursive: true, force: true });
const done = new Set();
const copy = (name) => {
  if (done.has(name)) return;
  done.add(name);
  const from = new URL(name, FROM);
  mkdirSync(new URL(".", new URL(name, TO)), { recursive: true });
  cpSync(fileURLToPath(from), fileURLToPath(new URL(name, TO)));
  for (const [, other] of readFileSync(from, "utf8").matchAll(IMPORT)) copy(new URL(other, from).href.slice(FROM.href.length));
};
// What index.js names, and the predictors, which are loaded by their names.
for (const [, name] of readFileSync(new URL("index.js", import.meta.url), "utf8").matchAll(/"\.\/js\/([^"]+)"/g)) copy(name);
for (const name of readdirSync(new URL("predict/", FROM))) copy(`predict/${name}`);

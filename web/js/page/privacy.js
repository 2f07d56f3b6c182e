/** The privacy panel: what the release promises, and what has left this tab. */
import { brief, by, counted, el, fill, say } from "./dom.js";

const MOST_SHOWN = 2000;

/** @param {number} delta @returns {string} what follows an epsilon */
export const atDelta = (delta) => (delta ? `, delta ${delta < 1e-3 ? delta.toExponential() : delta}` : "");

/** @param {any} guarantee @returns {string} a heading for it */
export function promiseOf({ epsilon, delta, unit, not_private: none }) {
  if (none.length) return "No promise";
  return `epsilon ${Number(epsilon.toPrecision(4))}${atDelta(delta)}, per ${unit === "user" ? "person" : "rating"}`;
}

/** @param {{release: import("../release.js").Release, sha256: string, bytes: number}} loaded */
export function showGuarantee({ release, sha256, bytes }) {
  const { guarantee, catalog, method } = release;
  fill(
    by("guarantee"),
    el("p", { className: "big" }, promiseOf(guarantee)),
    el("p", {}, guarantee.words),
    el(
      "p",
      { className: "soft" },
      `These words are the file's own: the page checked that the file is whole and undamaged, not the arithmetic behind them. ` +
        `${counted(catalog.ids.length, "title")}, method ${method}, ${brief(bytes / 1e6, 1)} MB, SHA-256 ${sha256.slice(0, 16)}…`,
    ),
  );
}

/** @param {import("../service.js").Sent[]} all */
export function showTraffic(all) {
  const [loading, asked] = [all.filter((each) => each.loading), all.filter((each) => !each.loading)];
  const bytes = asked.reduce((sum, each) => sum + each.bytes, 0);
  const told = asked.filter((each) => each.body || each.method !== "GET");
  by("pledge").textContent = told.length
    ? `Sent by you since you opened this tab: ${counted(told.length, "message")}.`
    : "Your ratings stay in this tab. Nothing about you was sent.";
  say(
    "traffic-said",
    `Since you opened this tab: ${counted(loading.length, "file")} of this page fetched, ${counted(asked.length, "question")} to the ` +
      `service, ${counted(bytes, "byte")} of ours in them. ` +
      (told.length ? "What you contributed is below, to the letter." : "No rating was sent."),
  );
  const files = loading.length ? [line("GET", `${loading.length} files`, "the page itself, and its copy for offline", 0)] : [];
  fill(by("requests"), ...files, ...asked.map((each) => line(each.method, each.path, each.why, each.bytes, each.body)));
}

function line(method, path, why, bytes, body) {
  const what = el("td", {}, `${method} ${path}`);
  if (body) {
    const shown = body.length > MOST_SHOWN ? `${body.slice(0, MOST_SHOWN)} …` : body;
    what.append(el("details", {}, el("summary", {}, "What was in it"), el("pre", {}, shown)));
  }
  return el("tr", {}, what, el("td", {}, why), el("td", { className: "number" }, counted(bytes, "byte")));
}

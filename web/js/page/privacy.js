/** The privacy panel: what the release promises, what has left this page, and what is kept. */
import { atMost, brief, by, counted, el, fill, say, words } from "./dom.js";

const MOST_SHOWN = 200_000;

/** @param {number} delta @returns {string} what follows an epsilon */
export const atDelta = (delta) => (delta ? `, delta ${delta < 1e-3 ? delta.toExponential() : delta}` : "");

/** @param {any} guarantee @returns {string} a heading for it */
export function promiseOf({ epsilon, delta, unit, not_private: none }) {
  if (none.length) return "No promise";
  return `epsilon ${atMost(epsilon)}${atDelta(delta)}, per ${unit === "user" ? "person" : "rating"}`;
}

/** @param {{release: import("../release.js").Release, sha256: string, bytes: number}} loaded */
export function showGuarantee({ release, sha256, bytes }) {
  const { guarantee, catalog, method } = release;
  fill(
    by("guarantee"),
    el("p", { className: "big" }, promiseOf(guarantee)),
    el("p", {}, guarantee.words),
    el("p", { className: "soft" }, words("checked", counted(catalog.ids.length, "title"), method, brief(bytes / 1e6, 1), sha256.slice(0, 16))),
  );
}

/** @type {import("../service.js").Sent[]} */
let sent = [];
/** What is kept of contributions; null until that is known. @type {{record?: any, gone?: any} | null} */
let kept = null;

/**
 * What is kept of contributions, and so what the service has of the person.
 * @param {any[]} found of what was sent, of what is gone from the service, and what protocols remember
 */
export function showKept([record, gone, ...memories]) {
  kept = { record: record?.message && record, gone };
  by("kept-capability").hidden = !record;
  by("kept-answers").hidden = !memories.some(Boolean);
  showTraffic(sent);
}

/** How things stand, whenever it was sent. */
function pledgeOf({ record, gone }, told) {
  if (record) return `A contribution of yours ${record.done || record.had ? "is" : "may be"} at the service; withdraw it below.`;
  if (gone) return `Nothing of yours is at the service now, but it ${gone.was ? "was" : "may have been"}.${gone.spent ? " What was spent stays counted." : ""}`;
  return `Your ratings stay in this browser. ${told ? "No rating" : "Nothing about you"} was sent.`;
}

/** @param {import("../service.js").Sent[]} all */
export function showTraffic(all) {
  sent = all;
  const [loading, asked] = [all.filter((each) => each.loading), all.filter((each) => !each.loading)];
  const bytes = asked.reduce((sum, each) => sum + each.bytes, 0);
  const told = asked.filter((each) => each.body || each.method !== "GET");
  if (kept) by("pledge").textContent = pledgeOf(kept, told.length);
  const earlier = kept?.record || kept?.gone ? " since then; what was sent earlier is not in this list" : "";
  say(
    "traffic-said",
    `Since this page was loaded: ${counted(loading.length, "file")} of this page fetched, ${counted(asked.length, "question")} to the ` +
      `service, ${counted(bytes, "byte")} of ours in them. ` +
      (told.length ? "What you sent is below, to the letter." : kept ? `No rating was sent${earlier}.` : ""),
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

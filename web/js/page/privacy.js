/** The privacy panel: what the release promises, what has left this page, and what is kept. */
import { atMost, by, counted, el, fill, say, sized, words } from "./dom.js";

const MOST_SHOWN = 200_000;

/** @param {number} delta @returns {string} what follows an epsilon */
export const atDelta = (delta) => (delta ? `, delta ${delta < 1e-3 ? delta.toExponential() : delta}` : "");

/** Whom a guarantee or a limit is about: a rating, a person, a person and week. @param {string} unit */
export const whomOf = (unit) => unit.replace("user", "person").replace("-", " and ");

/** @param {any} guarantee @returns {string} a heading for it */
export function promiseOf({ epsilon, delta, unit, not_private: none }) {
  if (none.length) return "No promise";
  return `epsilon ${atMost(epsilon)}${atDelta(delta)}, per ${whomOf(unit)}`;
}

/** @param {{release: import("../release.js").Release, sha256: string, bytes: number}} loaded */
export function showGuarantee({ release, sha256, bytes }) {
  const { guarantee, catalog, method, parameters } = release;
  fill(
    by("guarantee"),
    el("p", { className: "big" }, promiseOf(guarantee)),
    el("p", {}, guarantee.words),
    ...[parameters.learnt?.words ?? []].flat().slice(0, 2).map((said) => el("p", {}, String(said))),
    el("p", { className: "soft" }, words("checked", counted(catalog.ids.length, "title"), method, sized(bytes), sha256.slice(0, 16))),
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

/** How things stand, whenever it was sent. @param {{record?: any, gone?: any}} found @param {number} told */
function pledgeOf({ record, gone }, told) {
  if (record) return words("pledge-there", record.done || record.had ? "is" : "may be");
  if (gone) return words("pledge-gone", gone.was ? "was" : "may have been") + (gone.spent ? words("spent") : "");
  return words("pledge-none", told ? "No rating" : "Nothing about you");
}

/** @param {import("../service.js").Sent[]} all */
export function showTraffic(all) {
  sent = all;
  const [loading, asked] = [all.filter((each) => each.loading), all.filter((each) => !each.loading)];
  const bytes = asked.reduce((sum, each) => sum + each.bytes, 0);
  const told = asked.filter((each) => each.body || each.method !== "GET");
  if (kept) by("pledge").textContent = pledgeOf(kept, told.length);
  const none = kept && words(kept.record || kept.gone ? "none-since" : "none-sent");
  const counts = [counted(loading.length, "file"), counted(asked.length, "question"), counted(bytes, "byte")];
  say("traffic-said", words("traffic-counts", ...counts) + (told.length ? words("letters", counted(MOST_SHOWN, "character")) : (none ?? "")));
  const paths = loading.map((each) => each.path).join("\n");
  const files = paths ? [line("GET", counted(loading.length, "file"), words("own-files"), 0, paths)] : [];
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

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

/** @param {string} unit @returns {[kind: string, period: string]} */
const kindOf = (unit) => [unit.startsWith("user-") ? "period" : unit, unit.slice(5)];

/** Whom a promise protects, in words. @param {string} unit */
const protectedBy = (unit) => words(`whose-${kindOf(unit)[0]}`, kindOf(unit)[1]);

/** What somebody would toss a coin on who wants to know. @param {string} unit */
export const coinOf = (unit) => words(`coin-${kindOf(unit)[0]}`, kindOf(unit)[1]);

/**
 * At best, in how many of a hundred cases a coin's toss on one unit is guessed right, rounded up. From epsilon and
 * delta: P(S) <= e^epsilon Q(S) + delta bounds (P(S) + 1 - Q(S)) / 2 by (e^epsilon + delta) / (e^epsilon + 1).
 * @param {number} epsilon @param {number} [delta]
 */
export const guessesOf = (epsilon, delta = 0) => Math.ceil(100 * ((1 + delta * Math.exp(-epsilon)) / (1 + Math.exp(-epsilon))) - 1e-9);

/** The most guesses of a hundred for each of these words, the strongest first. Chosen by hand. */
/** @type {[number, string][]} */
const STRENGTHS = [[75, "strong"], [90, "fair"], [99, "weak"], [100, "none"]];

/** A promise in plain English: a headline, then what it means and what it does not cover. @param {any} guarantee */
export function plainPromise({ epsilon, delta, unit, not_private: none, per }) {
  if (none.length) return [words("no-promise"), words("no-promise-means")];
  const guesses = guessesOf(epsilon, delta);
  const [, strength] = STRENGTHS.find(([most]) => guesses <= most);
  const [kind, period] = kindOf(unit);
  const isLess = kind === "rating" && Number.isFinite(per?.user) ? "-less" : "";
  return [words(`promise-${strength}`, protectedBy(unit)), words("guesses", coinOf(unit), guesses), words(`beyond-${kind}${isLess}`, period)];
}

/** @param {import("./load.js").Loaded} loaded */
export function showGuarantee({ release, sha256, bytes, signer }) {
  const { guarantee, catalog, method, parameters } = release;
  const [headline, ...means] = plainPromise(guarantee);
  const learnt = [parameters.learnt?.words ?? []].flat().slice(0, 2);
  fill(
    by("guarantee"),
    el("p.big", {}, headline),
    ...means.map((said) => el("p", {}, said)),
    el("details", {}, el("summary", {}, words("mathematics")),
      el("p", {}, el("b", {}, promiseOf(guarantee))),
      ...[guarantee.words, ...learnt].map((said) => el("p", {}, String(said))),
      el("p.soft", {}, words("checked", counted(catalog.ids.length, "title"), method, sized(bytes), sha256.slice(0, 16))),
      ...(signer ? [el("p.soft", {}, words("signed", signer))] : [])),
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
  fill(by("requests"), ...files, ...asked.map((each) => line(each.method, each.path, words(each.why), each.bytes, each.body)));
}

function line(method, path, why, bytes, body) {
  const what = el("td", {}, `${method} ${path}`);
  if (body) {
    const shown = body.length > MOST_SHOWN ? `${body.slice(0, MOST_SHOWN)} …` : body;
    what.append(el("details", {}, el("summary", {}, "What was in it"), el("pre", { tabIndex: 0 }, shown)));
  }
  return el("tr", {}, what, el("td", {}, why), el("td.number", {}, counted(bytes, "byte")));
}

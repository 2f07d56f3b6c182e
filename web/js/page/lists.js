/** The three lists: titles to rate, own ratings, recommendations. */
import { nearest } from "../scale.js";
import { brief, by, counted, el, fill, say, words } from "./dom.js";
import { rater } from "./rater.js";
import { nameOf, partsOf, search } from "./titles.js";

const MOST_FOUND = 8;
const MOST_OWN = 200;
const STARTERS = 6;
/** Of those that have reasons, the part that a reason is shared by if it is said once for all of them. Chosen. */
const SHARED = 0.75;
/** Reasons with less than this part of the strongest one's weight are not worth reading. Chosen. */
const WORTH = 0.3;
/** Milliseconds that a rated row stays, to be seen and corrected, and that it takes to leave. Chosen. */
const [STAY, LEAVE] = [900, 200];
/** Colours of tiles, evenly around the circle. */
const HUES = 12;

/** A title as it is shown. @param {any} home @param {number} index */
const nameAt = (home, index) => nameOf(home.catalog.titles[index]);

/** What stands for a title's picture: its first letter and its year, in a colour of its own. */
function tile(title) {
  const [name, year] = partsOf(title);
  const made = el("span.tile", { ariaHidden: "true" }, el("b", {}, /[\p{L}\p{N}]/u.exec(name.replace(/^(the|an?) /i, ""))?.[0] ?? "·"), year);
  const sum = [...name].reduce((so, letter) => (so * 31 + letter.charCodeAt(0)) % 9973, 0);
  made.style.setProperty("--hue", String(((sum % HUES) * 360) / HUES));
  made.dataset.look = String(sum % 5);
  return made;
}

/** One title with its stars. */
function row(home, index, more = [], last = []) {
  const title = home.catalog.titles[index];
  const [name, year] = partsOf(title);
  const shown = el("span.title", { title: nameOf(title) }, name, ...(year ? [" ", el("span.soft", {}, `(${year})`)] : []));
  const actions = last.length ? [el("div.actions", {}, ...last)] : [];
  const made = el("li", {}, tile(title), el("div", {}, shown, ...more, control(home, index), ...actions));
  made.dataset.index = String(index);
  return made;
}

const control = (home, index) => rater(home.scale, nameAt(home, index), home.valueOf(index), (value) => home.rate(index, value));

/** A button that does something with a title. @param {(home: any, index: number, row: Element) => void} act */
const small = (home, index, text, act, title = "") =>
  el("button.small", { title, "aria-label": `${text}: ${nameAt(home, index)}`, onclick: ({ target }) => act(home, index, target.closest("li")) }, text);

/** A way to titles that are like one, if it is known what it is like. */
const similar = (home, index) => (home.predictor?.compares(index) ? [small(home, index, "Similar", showSimilar)] : []);

/** Known and not liked, in one click: a quarter up the scale. */
function notForMe(home, index) {
  const { presence, lo, hi } = home.scale;
  const value = nearest(home.scale, lo + (hi - lo) / 4);
  return presence ? [] : [small(home, index, "Not for me", () => home.rate(index, value), words("not-for-me", brief(value)))];
}

/** Whether the list is of titles to begin with, which never runs dry. */
const isQueue = (home) => !by("search").value.trim() && home.alike === undefined;

/** What the search finds, what is similar to a title, or where to begin. */
export function showFound(home) {
  const question = by("search").value.trim();
  if (isQueue(home)) {
    fill(by("results"));
    for (const index of upNext(home, STARTERS)) by("results").append(queued(home, index));
    return say("found", words(by("results").children.length ? "begin-with" : "all-known"));
  }
  const { found, isGuess } = question ? search(home, question) : { found: home.predictor.similar(home.alike, MOST_FOUND, home.skips) };
  fill(by("results"), ...found.slice(0, MOST_FOUND).map((i) => row(home, i, [], [...notForMe(home, i), ...similar(home, i)])));
  const { length } = found;
  const told = words(isGuess && length ? "guessed" : length > MOST_FOUND ? "search-more" : "search-found", counted(length, "title"), MOST_FOUND);
  say("found", question ? told : words("alike", nameAt(home, home.alike)));
}

function showSimilar(home, index) {
  home.alike = index;
  by("search").value = "";
  showFound(home);
  by("found").focus();
}

/** The most popular titles that are neither rated nor skipped nor in the list. @returns {number[]} */
function upNext(home, count) {
  const { titles, ids } = home.catalog;
  home.order ??= titles.map((_, i) => i).sort((a, b) => (home.counts?.[b] ?? 0) - (home.counts?.[a] ?? 0) || a - b);
  const listed = new Set([...by("results").children].map((each) => Number(each.dataset.index)));
  const found = [];
  for (const index of home.order) {
    if (found.length >= count) break;
    if (home.valueOf(index) === undefined && !listed.has(index) && !home.skipped.has(ids[index]) && !home.hidden.has(ids[index])) found.push(index);
  }
  return found;
}

const queued = (home, index) => row(home, index, [], [...notForMe(home, index), small(home, index, words("unknown"), skip), ...similar(home, index)]);

/** Not known: the next one, please. It can still be recommended. */
function skip(home, index, at) {
  moveOn(home, at);
  home.skip(index);
}

/** The next title takes a row's place; the focus, if it was there, goes on to it. */
function moveOn(home, at) {
  if (at.classList.contains("leaving")) return;
  at.classList.add("leaving");
  setTimeout(() => {
    if (!at.isConnected) return;
    const [index] = isQueue(home) ? upNext(home, 1) : [];
    const had = at.contains(document.activeElement);
    const next = index === undefined ? "" : queued(home, index);
    if (next) next.classList.add("arriving");
    at.replaceWith(next);
    if (had) (next || by("results").firstChild || by("rate")).querySelector("input, button")?.focus();
  }, LEAVE);
}

/** A row that was rated goes after a while, or if the keyboard is at work there, when that is over. */
export function settle(home, at) {
  clearTimeout(settling.get(at));
  settling.set(at, setTimeout(() => {
    if (!at.isConnected) return;
    const isQueued = at.parentNode === by("results") && isQueue(home);
    if (home.valueOf(Number(at.dataset.index)) === undefined || !(isQueued || at.closest("#recommended"))) return;
    if (at.querySelector(":focus-visible")) at.addEventListener("focusout", () => settle(home, at), { once: true });
    else if (isQueued) moveOn(home, at);
    // The list is worked out again when the focus goes.
    else at.querySelector(":focus")?.blur();
  }, STAY));
}

/** Timers of rows that were rated. @type {WeakMap<Element, number>} */
const settling = new WeakMap();

/** Stars elsewhere follow what was rated here. @param {Element | null} except where it was done */
export function refresh(home, index, except) {
  for (const place of document.querySelectorAll(`.rows > li[data-index="${index}"]`)) {
    if (place !== except || !place.querySelector(".rater :focus")) place.querySelector(".rater")?.replaceWith(control(home, index));
    settle(home, place);
  }
}

/**
 * Own ratings, the newest first; those that the catalogue does not have can only be removed.
 * @param {string} [id] of the one that changed, if it was one; its row stays where it is
 */
export function showOwn(home, id) {
  const { size } = home.ratings;
  const at = [...by("own").children].find((each) => each.dataset.id === id);
  if (id === undefined) fill(by("own"), ...[...home.ratings].reverse().slice(0, MOST_OWN).map((each) => ownRow(home, ...each)));
  else if (!home.ratings.has(id)) drop(at);
  else if (!at) by("own").prepend(ownRow(home, id, home.ratings.get(id)));
  by("own-count").textContent = size ? `(${size.toLocaleString("en")})` : "";
  by("own-empty").hidden = size > 0;
  by("own-more").hidden = size <= MOST_OWN;
  by("export").disabled = !size;
}

/** Remove a row; the focus, if it was there, goes to a neighbour. */
function drop(at) {
  const next = at?.contains(document.activeElement) && (at.nextElementSibling ?? at.previousElementSibling ?? by("rate"));
  at?.remove();
  if (next) next.querySelector(".remove, #search").focus();
}

function ownRow(home, id, { title, value }) {
  const index = home.catalog.find(id);
  const remove = el("button.remove", { "aria-label": words("remove", nameOf(title)), onclick: () => home.take(id) }, "✕");
  const isOut = home.scale && home.catalog.find(title) === undefined;
  const note = el("span.soft because", {}, brief(value) + (isOut ? words("not-here") : ""));
  const made = index === undefined ? el("li", {}, el("div", {}, el("span.title", {}, nameOf(title)), remove, note)) : row(home, index, [remove]);
  made.dataset.id = id;
  return made;
}

/**
 * Recommendations. A row that is just being rated stays where it is until the focus moves on.
 * @param {import("../predict/predictor.js").Recommendation[]} entries
 */
export function showRecommended(home, entries) {
  const list = by("recommended");
  entries = entries.map((entry) => ({ ...entry, because: entry.because.filter(({ amount }, _, [first]) => amount >= WORTH * first.amount) }));
  const shared = sharedBy(entries);
  const before = new Set([...list.children].map((each) => each.dataset.index));
  /** @type {HTMLElement | null} */
  const busy = document.activeElement?.closest("#recommended > li");
  const rows = entries.filter(({ index }) => String(index) !== busy?.dataset.index).map((entry) => recommended(home, entry, shared));
  for (const each of rows) if (before.size && !before.has(each.dataset.index)) each.classList.add("arriving");
  say("you-said", shared.size ? words("mostly", reasons(home, [...shared.values()])) : "");
  if (!busy) return fill(list, ...rows);
  const at = [...list.children].indexOf(busy);
  for (const other of [...list.children]) if (other !== busy) other.remove();
  busy.classList.toggle("rated", home.valueOf(Number(busy.dataset.index)) !== undefined);
  busy.before(...rows.slice(0, at));
  busy.after(...rows.slice(at));
}

/** Reasons that nearly all have: they are said once. @returns {Map<number, any>} by index */
function sharedBy(entries) {
  const explained = entries.filter(({ because }) => because.length);
  const counts = new Map();
  for (const { because } of explained) for (const { index } of because) counts.set(index, (counts.get(index) ?? 0) + 1);
  const isShared = ({ index }) => explained.length > 1 && counts.get(index) >= SHARED * explained.length;
  return new Map(explained.flatMap(({ because }) => because).filter(isShared).map((reason) => [reason.index, reason]));
}

/** Own ratings that speak for something: what was liked, what was not, and what was neither. */
function reasons(home, because) {
  const { presence, lo, hi } = home.scale;
  const place = ({ index }) => (presence ? 1 : (nearest(home.scale, home.valueOf(index) ?? hi) - lo) / (hi - lo));
  const kinds = { [presence ? "known" : "liked"]: [0.6, 1], "so-so": [0.4, 0.6], disliked: [-1, 0.4] };
  return listed(Object.entries(kinds).flatMap(([kind, [above, most]]) => {
    const titles = because.filter((each) => place(each) > above && place(each) <= most).map(({ title }) => partsOf(title)[0]);
    return titles.length ? [words(kind, listed(titles))] : [];
  }));
}

function recommended(home, { index, expected, because }, shared) {
  const { hi } = home.scale;
  const more = expected === undefined ? [] : [el("span.expected", {}, meter(home.scale, expected), `${expected.toFixed(1)} of ${brief(hi)}`)];
  const own = because.filter((reason) => !shared.has(reason.index));
  if (own.length) more.push(el("span.soft because", {}, words("you", reasons(home, own))));
  return row(home, index, more, [...notForMe(home, index), ...similar(home, index), small(home, index, "Hide", hide, words("hide"))]);
}

/** An expected rating to look at: stars, the last one in part, or a bar where a scale has no stars. */
function meter(scale, expected) {
  const { lo, hi } = scale;
  const hasStars = lo > 0 && lo <= 1 && hi <= 5 && Number.isInteger(hi);
  const made = el(hasStars ? "span.meter" : "span.meter bar", { ariaHidden: "true" });
  made.style.setProperty("--part", `${(100 * (hasStars ? expected / hi : (expected - lo) / (hi - lo))).toFixed(1)}%`);
  made.style.setProperty("--stars", String(hi));
  return made;
}

/** Leave a title out of lists without rating it; the focus goes to the one that takes its place. */
function hide(home, index, at) {
  const place = [...by("recommended").children].indexOf(at);
  at.remove();
  home.hide([...home.hidden, home.catalog.ids[index]], index);
  by("recommended").children[place]?.querySelector(".actions > :last-child").focus();
}

const listed = (texts) => new Intl.ListFormat("en").format(texts);

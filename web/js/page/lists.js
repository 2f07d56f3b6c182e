/** The three lists: titles to rate, own ratings, recommendations. */
import { brief, by, counted, el, fill, say, words } from "./dom.js";
import { rater } from "./rater.js";

const MOST_FOUND = 8;
const MOST_OWN = 200;
const STARTERS = 6;

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/**
 * Titles that have every word of a question: those that begin with it first, then the popular.
 * @param {{catalog: {titles: string[]}, counts?: ArrayLike<number>, plainTitles?: string[]}} home
 * @param {string} question @returns {number[]}
 */
export function search(home, question) {
  home.plainTitles ??= home.catalog.titles.map(plain);
  const asked = plain(question).split(/\s+/).filter(Boolean);
  const rank = (i) => {
    const title = home.plainTitles[i];
    return (title.startsWith(asked[0]) ? 2 : 0) + (title.includes(` ${asked[0]}`) ? 1 : 0);
  };
  const found = [];
  for (let i = 0; i < home.plainTitles.length; i++)
    if (asked.every((word) => home.plainTitles[i].includes(word))) found.push(i);
  const count = (i) => home.counts?.[i] ?? 0;
  return found.sort((a, b) => rank(b) - rank(a) || count(b) - count(a) || a - b);
}

/** One title with its stars. */
function row(home, index, more = [], last = []) {
  const title = home.catalog.titles[index];
  const control = rater(home.scale, title, home.valueOf(index), (value) => home.rate(index, value));
  const made = el("li", {}, el("span", { className: "title" }, title), ...more, control, ...last);
  made.dataset.index = String(index);
  return made;
}

/** A button that does something with a title. @param {(home: any, index: number, row: Element) => void} act */
const small = (home, index, text, act) =>
  el("button", { className: "small", "aria-label": `${text}: ${home.catalog.titles[index]}`, onclick: ({ target }) => act(home, index, target.closest("li")) }, text);

/** A way to titles that are like one, if it is known what it is like. */
const similar = (home, index) => (home.predictor?.compares(index) ? [small(home, index, "Similar", showSimilar)] : []);

/** What the search finds, what is similar to a title, or where to begin. It stays put while the person rates. */
export function showFound(home) {
  const question = by("search").value.trim();
  const alike = question ? undefined : home.alike;
  const found = question ? search(home, question) : alike === undefined ? starters(home) : home.predictor.similar(alike, MOST_FOUND, home.skips);
  fill(by("results"), ...found.slice(0, MOST_FOUND).map((i) => row(home, i, [], similar(home, i))));
  const more = found.length > MOST_FOUND ? `; here are the first ${MOST_FOUND}` : "";
  const said = alike === undefined ? words("begin-with") : words("alike", home.catalog.titles[alike]);
  say("found", question ? `${counted(found.length, "title")} found${more}.` : said);
}

function showSimilar(home, index) {
  home.alike = index;
  by("search").value = "";
  showFound(home);
  by("found").focus();
}

function starters(home) {
  const all = home.catalog.titles.map((_, i) => i).filter((i) => home.valueOf(i) === undefined);
  if (home.counts) all.sort((a, b) => home.counts[b] - home.counts[a] || a - b);
  return all.slice(0, STARTERS);
}

/** Stars elsewhere follow what was rated here. @param {Element | null} except where it was done */
export function refresh(home, index, except) {
  for (const place of document.querySelectorAll(`.rows > li[data-index="${index}"]`)) {
    if (place === except) continue;
    const fresh = rater(home.scale, home.catalog.titles[index], home.valueOf(index), (value) => home.rate(index, value));
    place.querySelector(".rater")?.replaceWith(fresh);
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
  const remove = el("button", { className: "remove", "aria-label": `Remove your rating of ${title}`, onclick: () => home.take(id) }, "✕");
  const isOut = home.scale && home.catalog.find(title) === undefined;
  const note = el("span", { className: "soft because" }, `${brief(value)}${isOut ? " · not in this catalogue" : ""}`);
  const made = index === undefined ? el("li", {}, el("span", { className: "title" }, title), remove, note) : row(home, index, [remove]);
  made.dataset.id = id;
  return made;
}

/**
 * Recommendations. A row that is just being rated stays where it is until the focus moves on.
 * @param {import("../predict/predictor.js").Recommendation[]} entries
 */
export function showRecommended(home, entries) {
  const list = by("recommended");
  /** @type {HTMLElement | null} */
  const busy = document.activeElement?.closest("#recommended > li");
  const rows = entries.filter(({ index }) => String(index) !== busy?.dataset.index).map((entry) => recommended(home, entry));
  if (!busy) return fill(list, ...rows);
  const at = [...list.children].indexOf(busy);
  for (const other of [...list.children]) if (other !== busy) other.remove();
  busy.classList.toggle("rated", home.valueOf(Number(busy.dataset.index)) !== undefined);
  busy.before(...rows.slice(0, at));
  busy.after(...rows.slice(at));
}

function recommended(home, { index, expected, because }) {
  const { presence, hi } = home.scale;
  const more = expected === undefined ? [] : [el("span", { className: "expected" }, `${expected.toFixed(1)} of ${brief(hi)}`)];
  const why = listed(because.map(({ title }) => title));
  if (why) more.push(el("span", { className: "soft because" }, words(presence ? "because-known" : "because", why)));
  return row(home, index, more, [...similar(home, index), small(home, index, "Hide", hide)]);
}

/** Leave a title out of lists without rating it; the focus goes to the one that takes its place. */
function hide(home, index, at) {
  const place = [...by("recommended").children].indexOf(at);
  at.remove();
  home.hide([...home.hidden, home.catalog.ids[index]]);
  by("recommended").children[place]?.lastChild.focus();
}

const listed = (texts) => new Intl.ListFormat("en").format(texts);

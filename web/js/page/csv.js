/** A person's ratings as CSV: the files that the command line reads and writes, and those that film sites hand out. */
import { partsOf, plain } from "./titles.js";

const MOST_BYTES = 4 << 20;
const MOST_ROWS = 200_000;
const TITLE_NAMES = ["movie", "title", "name"];
const ITEM_NAMES = ["id", "item", "item_id", "itemid", "movieid", "movie_id", ...TITLE_NAMES];
const RATING_NAMES = ["rating", "ratings", "stars", "score", "value"];
// Sites whose files are recognised by a column of their own: that, the item, the rating, and the scale of the ratings.
const SITES = ["letterboxd uri,name,rating,0.5,5", "your rating,title,your rating,1,10", "tmdb_id,movie_id,rating,0.5,5"].map((site) => site.split(","));
const USER_NAMES = ["user", "user_id", "userid", "username", "user_name"];

// What a spreadsheet would take for a formula, with or without the apostrophes that say it is none.
const FORMULA = /^'*[=+\-@\t\r\n]/;
const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));

/** A name that no spreadsheet works out: an apostrophe before it says that it is text. @param {string} name */
const asText = (name) => (FORMULA.test(name) && !isNumber(name) ? `'${name}` : name);

/** The name that `asText` was given. @param {string} text */
const asName = (text) => (text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text);

/** @param {Iterable<[string, {value: number, title: string}]>} ratings @returns {string} */
export function toCsv(ratings) {
  const field = (text) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...ratings].map(([id, { title, value }]) => [asText(id), asText(title), String(value)]);
  return [["id", "title", "rating"], ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/**
 * Item names and ratings from a file, which is never larger than it may be.
 * @param {Blob} file @param {boolean} presence whether being listed is all there is to say
 * @param {(id: string, ...values: any[]) => void} fail throws, with the page's words for it
 * @returns {Promise<{rows: {name: string, title: string, year: string, value: number, line: number}[], blank: number,
 *   from?: {lo: number, hi: number}}>} rows: the last of several for a name, which is an id or a title; title: what else
 *   the item is called; blank: how many of a site's lines had no rating; from: the scale of a site's ratings
 * @throws {Error} one line that says where it is wrong
 */
export async function fromCsv(file, presence, fail) {
  if (file.size > MOST_BYTES) fail("csv-large", MOST_BYTES >> 20);
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    fail("csv-utf8");
  }
  const { rows, separator } = split(text, fail);
  if (!rows.length) fail("csv-empty");
  const { item, title, year, rating, user, header, site } = columns(rows[0], presence, separator, fail);
  const found = new Map();
  let blank = 0;
  const body = header ? rows.slice(1) : rows;
  for (const { cells, line } of body) {
    const nameIn = (column) => asName(cells[column]?.trim() ?? "");
    const [name, text] = [nameIn(item), cells[rating]?.trim() ?? ""];
    if (cells[user] !== body[0].cells[user]) fail("csv-users", line);
    if (site && name && !text && !presence) {
      blank++;
      continue;
    }
    const value = presence ? 1 : numberIn(text, separator);
    if (!name || !Number.isFinite(value)) fail("csv-line", line, presence ? "a title" : "a title and a number");
    found.set(`${name} ${nameIn(year)}`, { name, title: nameIn(title), year: nameIn(year), value, line });
  }
  return { rows: [...found.values()], blank, from: site && { lo: Number(site[3]), hi: Number(site[4]) } };
}

/** A number, with a decimal comma where commas separate nothing. */
const numberIn = (text, separator) => Number((separator === "," ? text : text.replace(/^(-?\d+),(\d+)$/, "$1.$2")).trim() || NaN);

/** Where things are; as the command line does, nothing is guessed that could be something else. */
function columns({ cells, line }, presence, separator, fail) {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const at = (wanted) => names.indexOf(wanted.find((name) => names.includes(name)));
  const site = SITES.find((each) => each.slice(0, 3).every((name) => names.includes(name)));
  const [item, rating, title, year, user] = [site ? [site[1]] : ITEM_NAMES, site ? [site[2]] : RATING_NAMES, TITLE_NAMES, ["year"], USER_NAMES].map(at);
  const header = item >= 0 && (presence || rating >= 0);
  if (header) return { item, title, year, rating, user, header, site };
  if (!presence && cells.length > 1 && !Number.isFinite(numberIn(cells[1], separator))) fail("csv-header", line);
  if (!presence && cells.length > 2 && isNumber(cells[0])) fail("csv-numbers", line, cells.length);
  return { item: 0, rating: 1, header };
}

/**
 * Finds the items that rows speak of: by id or title to the letter, else by a title that is written in another way, with
 * the year beside it if there is one. An id whose item has another title than the row is somebody else's id.
 * @param {{ids: string[], titles: string[], find: (name: string) => number | undefined}} catalog
 * @returns {(row: {name: string, title?: string, year?: string}) => number | undefined}
 */
export function finder({ ids, titles, find }) {
  /** By name and year, and by name alone where only one title has it; undefined where several do. */
  const byName = new Map();
  titles.forEach((whole, i) => {
    const [name, year] = partsOf(whole);
    const others = [...name.matchAll(/\(([^()]+)\)/g)].map(([, other]) => other.replace(/^a\.?k\.?a\.? /i, ""));
    for (const each of [name, name.replace(/\s*\(.*/, ""), ...others])
      for (const key of new Set([`${plain(each)} ${year}`, `${plain(each)} `]))
        byName.set(key, byName.has(key) && byName.get(key) !== i ? undefined : i);
  });
  const byTitle = (text, given) => {
    const [name, own] = partsOf(text);
    const year = given || own;
    const found = find(text) ?? byName.get(`${plain(name)} ${year}`) ?? byName.get(`${plain(name)} `);
    const other = partsOf(titles[found] ?? "")[1];
    // Sites differ by a year about when a film came out; by more, it is another film.
    return other && year && Math.abs(Number(other) - Number(year)) > 1 ? undefined : found;
  };
  return ({ name, title = "", year = "" }) => {
    const found = find(name);
    if (!title || title === name) return found !== undefined && !year ? found : (byTitle(name, year) ?? found);
    const titled = byTitle(title, year);
    return titled ?? (found !== undefined && (titles[found] === ids[found] || titles[found] === title) ? found : undefined);
  };
}

/** Rows of cells that are not empty, each with the line it begins on, and what separates them; quotes as in RFC 4180. */
function split(text, fail) {
  const first = text.slice(0, text.search(/[\r\n]|$/)).replace(/"[^"]*"/g, "");
  // A comma inside a number or before a space separates no cells.
  const hasCommas = /,/.test(first.replace(/(?<=\d),(?=\d)|,(?= )/g, ""));
  const separator = first.includes("\t") ? "\t" : first.includes(";") && !hasCommas ? ";" : ",";
  const token = new RegExp(`(?:"((?:[^"]|"")*)"|((?!")[^${separator}\\r\\n]*))(${separator}|\\r\\n|\\r|\\n|$)`, "y");
  const rows = [];
  let cells = [], line = 1, begun = 1;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    if (!found) fail("csv-quote", line);
    const [whole, quoted, plain, end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split(/\r\n|\r|\n/).length - 1;
    if (end === separator) continue;
    if (cells.some((cell) => cell.trim())) rows.push({ cells, line: begun });
    if (rows.length > MOST_ROWS) fail("csv-long", MOST_ROWS.toLocaleString("en"));
    cells = [];
    begun = line;
    if (!whole) break;
  }
  return { rows, separator };
}

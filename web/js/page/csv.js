/** A person's ratings as CSV: the same files that the command line reads and writes. */

const MOST_BYTES = 4 << 20;
const MOST_ROWS = 200_000;
const TITLE_NAMES = ["movie", "title", "name"];
const ITEM_NAMES = ["id", "item", "item_id", "itemid", "movieid", "movie_id", ...TITLE_NAMES];
const RATING_NAMES = ["rating", "ratings", "stars", "score", "value"];
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
 * @returns {Promise<{name: string, title: string, value: number, line: number}[]>} the last of several for a name, which
 *   is an id or a title; title: what else the item is called
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
  const rows = split(text, fail);
  if (!rows.length) fail("csv-empty");
  const { item, title, rating, header } = columns(rows[0], presence, fail);
  const found = new Map();
  for (const { cells, line } of header ? rows.slice(1) : rows) {
    const nameIn = (column) => asName(cells[column]?.trim() ?? "");
    const name = nameIn(item);
    const value = presence ? 1 : Number(cells[rating]?.trim() || NaN);
    if (!name || !Number.isFinite(value)) fail("csv-line", line, presence ? "a title" : "a title and a number");
    found.set(name, { name, title: nameIn(title), value, line });
  }
  return [...found.values()];
}

/** Where things are; as the command line does, nothing is guessed that could be something else. */
function columns({ cells, line }, presence, fail) {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const at = (wanted) => names.indexOf(wanted.find((name) => names.includes(name)));
  const [item, title, rating] = [ITEM_NAMES, TITLE_NAMES, RATING_NAMES].map(at);
  const header = item >= 0 && (presence || rating >= 0);
  const isOther = !presence && cells.length > 1 && !isNumber(cells[1]);
  if ((header || isOther) && at(USER_NAMES) >= 0) fail("csv-users", line);
  if (header) return { item, title, rating, header };
  if (isOther) fail("csv-header", line);
  if (!presence && cells.length > 2 && isNumber(cells[0])) fail("csv-numbers", line, cells.length);
  return { item: 0, rating: 1, header };
}

/** Rows of cells that are not empty, each with the line it begins on; quotes as in RFC 4180. */
function split(text, fail) {
  const first = text.slice(0, text.search(/[\r\n]|$/));
  const separator = first.includes("\t") ? "\t" : first.includes(";") && !first.includes(",") ? ";" : ",";
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
  return rows;
}

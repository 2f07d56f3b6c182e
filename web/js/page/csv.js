/** A person's ratings as CSV: the same files that the command line reads and writes. */

const MOST_BYTES = 4 << 20;
const MOST_ROWS = 200_000;
const ITEM_NAMES = ["id", "item", "item_id", "itemid", "movieid", "title", "name"];
const RATING_NAMES = ["rating", "ratings", "stars", "score", "value"];

// What a spreadsheet would take for a formula, with or without the apostrophes that say it is none.
const FORMULA = /^'*[=+\-@\t\r\n]/;
const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));

/** A name that no spreadsheet works out: an apostrophe before it says that it is text. @param {string} name */
const asText = (name) => (FORMULA.test(name) && !isNumber(name) ? `'${name}` : name);

/** The name that `asText` was given. @param {string} text */
const asName = (text) => (text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text);

/** @param {Iterable<[string, {value: number, title: string}]>} ratings @returns {string} */
export function toCsv(ratings) {
  const field = (/** @type {any} */ text) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...ratings].map(([id, { title, value }]) => [asText(id), asText(title), String(value)]);
  return [["id", "title", "rating"], ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/**
 * Item names and ratings from a file, which is never larger than it may be.
 * @param {Blob} file @param {boolean} presence whether being listed is all there is to say
 * @returns {Promise<{name: string, value: number, line: number}[]>} the last of several for a name
 * @throws {Error} one line that says where it is wrong
 */
export async function fromCsv(file, presence) {
  if (file.size > MOST_BYTES) throw new Error(`The file is larger than ${MOST_BYTES >> 20} MB, so it was not read.`);
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("The file is not UTF-8 text.");
  }
  const rows = split(text);
  if (!rows.length) throw new Error("The file is empty; it should have a title and a rating on each line.");
  const { item, rating, header } = columns(rows[0].cells, presence);
  const found = new Map();
  for (const { cells, line } of header ? rows.slice(1) : rows) {
    const name = asName(cells[item]?.trim() ?? "");
    const value = presence ? 1 : Number(cells[rating]?.trim() || NaN);
    if (!name || !Number.isFinite(value)) throw new Error(`Line ${line} needs ${presence ? "a title" : "a title and a number"}; nothing was read.`);
    found.set(name, { name, value, line });
  }
  return [...found.values()];
}

function columns(first, presence) {
  const names = first.map((cell) => cell.trim().toLowerCase());
  const at = (wanted) => names.indexOf(wanted.find((name) => names.includes(name)) ?? "");
  const [item, rating] = [at(ITEM_NAMES), at(RATING_NAMES)];
  if (item >= 0 && (presence || rating >= 0)) return { item, rating, header: true };
  return { item: 0, rating: 1, header: !presence && first.length > 1 && Number.isNaN(Number(first[1])) };
}

/** Rows of cells that are not empty, each with the line it begins on; quotes as in RFC 4180. */
function split(text) {
  const first = text.slice(0, text.search(/[\r\n]|$/));
  const separator = first.includes("\t") ? "\t" : first.includes(";") && !first.includes(",") ? ";" : ",";
  const token = new RegExp(`(?:"((?:[^"]+|"")*)"|((?!")[^${separator}\\r\\n]*))(${separator}|\\r\\n|\\r|\\n|$)`, "y");
  const rows = [];
  let cells = [], line = 1, begun = 1;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    if (!found) throw new Error(`Line ${line} has a quotation mark in a wrong place; nothing was read.`);
    const [whole, quoted, plain, end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split(/\r\n|\r|\n/).length - 1;
    if (end === separator) continue;
    if (cells.some((cell) => cell.trim())) rows.push({ cells, line: begun });
    if (rows.length > MOST_ROWS) throw new Error(`The file has more than ${MOST_ROWS.toLocaleString("en")} lines.`);
    cells = [];
    begun = line;
    if (!whole) break;
  }
  return rows;
}

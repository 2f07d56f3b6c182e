/** Titles as people write them and look for them. */

// Catalogues put the article last: "Fugitive, The (1993)", "Postino, Il (The Postman) (1994)".
const ARTICLE_LAST = /([^()]+?), (the|an?|les?|la|l'|il|lo|gli|el|los|las|une?|der|die|das|eine?|den|det|het)(?=\s*(?:[()]|$))/gi;
const YEAR = /\s*\((\d{4})\)$/;
/** A word with so many letters may have so many slips; chosen by hand: with more, most titles look like it. */
const slipsIn = ({ length }) => (length < 4 ? 0 : length < 6 ? 1 : 2);
/** Bits of an integer that a word's letters may take. */
const MOST_LETTERS = 30;

/** A title with its article in front. @param {string} title */
export const nameOf = (title) =>
  title.includes(", ") ? title.replace(ARTICLE_LAST, (_, name, article) => article + (article.endsWith("'") ? "" : " ") + name) : title;

/** Name and year; the year is empty where a title has none. @param {string} title @returns {[name: string, year: string]} */
export const partsOf = (title) => [nameOf(title.replace(YEAR, "")), YEAR.exec(title)?.[1] ?? ""];

/** Letters and figures alone, without accents, each word after one space. @param {string} text */
export const plain = (text) =>
  text.toLowerCase().normalize("NFKD").replace(/[\p{M}'’.]/gu, "").replace("&", " and ").replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** Titles as a search reads them, worked out once: at 17,770 titles that takes as long as a few frames. */
export const plainTitles = (home) => (home.plainTitles ??= home.catalog.titles.map((title) => ` ${plain(nameOf(title))} `));

/**
 * Titles that have every word of a question; if there are none, those that have its letters in one piece ("starwars");
 * if there are none either, those that are nearly like it ("matrx"). The best first, the popular among equals.
 * @param {{catalog: {titles: string[]}, counts?: ArrayLike<number>, plainTitles?: string[]}} home
 * @param {string} question @returns {{found: number[], isGuess: boolean}}
 */
export function search(home, question) {
  const titles = plainTitles(home);
  const phrase = plain(question);
  const asked = phrase.split(" ");
  /** Those that a test gives a number, the lowest first. @param {(title: string, i: number) => number} test */
  const sorted = (test) => {
    const found = [];
    titles.forEach((title, i) => {
      const cost = test(title, i);
      if (cost < Infinity) found.push([i, cost, home.counts?.[i] ?? 0]);
    });
    return found.sort((a, b) => a[1] - b[1] || b[2] - a[2] || a[0] - b[0]).map(([i]) => i);
  };
  // Signs alone, which some titles are.
  if (!phrase) return { found: sorted((_, i) => (home.catalog.titles[i].includes(question) ? 0 : Infinity)), isGuess: false };
  const begins = new RegExp(`^ (the |an? )?${phrase}`);
  const words = sorted((title) => (asked.every((word) => title.includes(word)) ? Number(!begins.test(title)) * 2 + Number(!title.includes(` ${phrase} `)) : Infinity));
  if (words.length) return { found: words, isGuess: false };
  const tight = phrase.replaceAll(" ", "");
  const pieces = sorted((title) => (title.replaceAll(" ", "").includes(tight) ? 0 : Infinity));
  if (pieces.length) return { found: pieces, isGuess: false };
  const near = asked.map((word) => nearly(` ${word}`, slipsIn(word)));
  const whole = nearly(tight, slipsIn(tight));
  const slips = (title) => near.reduce((sum, test) => (sum < Infinity ? sum + test(title) : sum), 0);
  const found = sorted((title) => Math.min(slips(title), whole(title.replaceAll(" ", ""))));
  return { found, isGuess: true };
}

/**
 * How many letters are too many, missing or others where a text is most like a word; Infinity beyond the most.
 * All places are compared at once, a bit for each letter (Myers 1999). @param {string} word @param {number} most
 */
function nearly(word, most) {
  const letters = word.slice(0, MOST_LETTERS);
  const last = 1 << (letters.length - 1);
  const at = new Int32Array(1 << 16);
  for (let i = 0; i < letters.length; i++) at[letters.charCodeAt(i)] |= 1 << i;
  return (text) => {
    let more = -1, fewer = 0, slips = letters.length, least = slips;
    for (let i = 0; i < text.length; i++) {
      const same = at[text.charCodeAt(i)];
      const down = (((same & more) + more) ^ more) | same;
      const up = fewer | ~(down | more);
      const low = more & down;
      if (up & last) slips++;
      else if (low & last && --slips < least) least = slips;
      more = (low << 1) | ~(same | fewer | (up << 1));
      fewer = (up << 1) & (same | fewer);
    }
    return least <= most ? least : Infinity;
  };
}

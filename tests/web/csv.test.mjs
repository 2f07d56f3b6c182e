/** A person's ratings as CSV: what goes out comes back, and what is no CSV says where. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { finder, fromCsv, toCsv } from "../../web/js/page/csv.js";

const page = readFileSync(new URL("../../web/index.html", import.meta.url), "utf8");
/** As the page does, with the words of its document. */
const fail = (id, ...values) => {
  const [, words] = new RegExp(`<p id="${id}">(.*)</p>`).exec(page);
  throw new Error(words.replace(/#/g, () => values.shift()));
};
const readAll = (text, presence = false) => fromCsv(new Blob([text]), presence, fail);
const read = async (text, presence = false) => (await readAll(text, presence)).rows;
const pairs = async (text, presence) => (await read(text, presence)).map(({ name, value }) => [name, value]);

test("every text comes back as it was", async () => {
  const ids = ["plain", 'with "quotes"', "a,b;c\td", "two\nlines", "two\r\nlines", "Évening 🎬", '"', "=1+1"];
  const ratings = ids.map((id, i) => [id, { title: `title of ${id}`, value: 0.5 * i }]);
  const rows = await pairs(toCsv(ratings));
  assert.deepEqual(rows, ids.map((id, i) => [id, 0.5 * i]));
});

test("no title is a formula to a spreadsheet, and each comes back as it was", async () => {
  const nasty = ["=1+1", "+1 a", "-2 Guns", "@SUM(A1)", "\tx", "\rx", "'=x", "''-x", "'plain", "-5", "+7.5"];
  const text = toCsv(nasty.map((name) => [name, { title: name, value: -3 }]));
  const cells = text.split("\r\n").slice(1, -1).map((line) => line.split(","));
  for (const [id, title, value] of cells) {
    for (const cell of [id, title])
      assert.ok(/^"?'/.test(cell) || !/^"?[=+\-@\t\r]/.test(cell) || Number.isFinite(Number(cell)), cell);
    // A rating stays a number.
    assert.equal(value, "-3");
  }
  assert.deepEqual((await pairs(text)).map(([name]) => name), nasty);
  const byTitle = text.split("\r\n").map((line) => line.slice(line.indexOf(",") + 1)).join("\r\n");
  assert.deepEqual((await pairs(byTitle)).map(([name]) => name), nasty);
});

test("separators, headers, line ends and the order of columns are found out", async () => {
  const wanted = [["Alien", 5], ["Heat, The", 3.5]];
  for (const text of [
    'Alien,5\n"Heat, The",3.5',
    'title,rating\r\nAlien,5\r\n"Heat, The",3.5\r\n',
    "Stars;Year;Title\n5;1979;Alien\n3.5;1995;Heat, The\n",
    "\ufeffmovieId\tscore\rAlien\t5\rHeat, The\t3.5",
    'movie,value\nAlien,5\n\n"Heat, The",3.5\n',
    'Alien,5,seen twice\n"Heat, The",3.5,\n',
    "title;rating\nAlien;5\nHeat, The;3,5\n",
    "Heat, The;3,5\nAlien;5,0\n",
    'rating;title\n5;Alien\n"3,5";"Heat, The"\n',
    "title\trating\nAlien\t5\nHeat, The\t3,5\n",
  ])
    assert.deepEqual((await pairs(text)).sort(), wanted, JSON.stringify(text));
  assert.deepEqual(await pairs("Alien,1\nAlien,4\n"), [["Alien", 4]]);
  assert.deepEqual(await pairs("title\nAlien\nHeat\n", true), [["Alien", 1], ["Heat", 1]]);
});

test("what is wrong is refused with the line it begins on", async () => {
  await assert.rejects(read('id,rating\n"two\nlines",4\nx,y\n'), /Line 4 needs a title and a number/);
  await assert.rejects(read('a,1\n"b"c,2\n'), /Line 2 has a quotation mark/);
  await assert.rejects(read("a,1\n,2\n"), /Line 2 needs/);
  await assert.rejects(read("a,Infinity\n,2\n"), /Line 1 has neither/);
  await assert.rejects(read("\n \n"), /empty/);
  await assert.rejects(read("a,1\n".repeat(200_001)), /more than 200,000 lines/);
});

test("an item that has an id and a title is told by both", async () => {
  const [row] = await read("id,title,rating\nx7,'=Alien,5\n");
  assert.deepEqual(row, { name: "x7", title: "=Alien", year: "", value: 5, line: 2 });
  const [alone] = await read("title,rating\nAlien,5\n");
  assert.deepEqual([alone.name, alone.title], ["Alien", "Alien"]);
});

test("what could mean something else is refused as the command line does", async () => {
  for (const [text, presence] of [["userId,movieId,rating\n1,2,3\n2,2,4\n"], ["user,title\na,b\nc,b\n", true]])
    await assert.rejects(read(text, presence), /Line 3 is of another user than the first/, text);
  // A file of one person's, as MovieLens has them.
  assert.deepEqual(await pairs("userId,movieId,rating,timestamp\n1,2,3.5,9\n1,7,4,10\n"), [["2", 3.5], ["7", 4]]);
  await assert.rejects(read("\nAlien,five\nHeat,3\n"), /Line 2 has neither a rating in its second column nor a header/);
  await assert.rejects(read("film,how good\nAlien,5\n"), /Line 1 has neither/);
  await assert.rejects(read("1,31,2.5,1260759144\n"), /Line 1 has 4 columns of numbers, and nothing says which is which/);
  assert.deepEqual(await pairs("1984,4\n"), [["1984", 4]]);
});

test("a large quoted field is read in no time", async () => {
  const long = `${"x".repeat(1 << 20)}""`;
  const [{ name }] = await read(`id,rating\n"${long}",3\n`);
  assert.equal(name.length, (1 << 20) + 1);
});

test("a quote that never closes is refused, however much follows it", async () => {
  for (const rest of ["", '"x', "\n"]) await assert.rejects(read(`a,1\n"${"b".repeat(200)}${rest}`), /Line 2 has a quotation mark/);
});

const LETTERBOXD = `Date,Name,Year,Letterboxd URI,Rating
2021-03-04,The Fugitive,1993,https://boxd.it/aa,4.5
2021-03-05,Misérables,1995,https://boxd.it/ab,0.5
2021-03-06,"City of Lost Children, The",1995,https://boxd.it/ac,3
2021-03-07,Not Seen Yet,2001,https://boxd.it/ad,
`;
const IMDB = `Const,Your Rating,Date Rated,Title,Original Title,URL,Title Type,IMDb Rating,Runtime (mins),Year,Genres
tt0106977,9,2020-01-02,The Fugitive,The Fugitive,https://www.imdb.com/title/tt0106977/,Movie,7.8,130,1993,"Action, Crime"
tt0047034,3,2020-01-03,Godzilla,Gojira,https://www.imdb.com/title/tt0047034/,Movie,7.5,96,1954,Horror
`;
const MOVIELENS = `movie_id,imdb_id,tmdb_id,rating,average_rating,title
457,106977,5503,4.5,4.01,"Fugitive, The (1993)"
1,114709,862,2.0,3.9,Toy Story (1995)
`;

test("files of film sites are known by their columns, and lines without a rating left out", async () => {
  const found = await readAll(LETTERBOXD);
  assert.deepEqual(found.rows.map(({ name, year, value }) => [name, year, value]),
    [["The Fugitive", "1993", 4.5], ["Misérables", "1995", 0.5], ["City of Lost Children, The", "1995", 3]]);
  assert.deepEqual([found.blank, found.from.lo, found.from.hi], [1, 0.5, 5]);
  const imdb = await readAll(IMDB);
  assert.deepEqual(imdb.rows.map(({ name, year, value }) => [name, year, value]), [["The Fugitive", "1993", 9], ["Godzilla", "1954", 3]]);
  assert.deepEqual([imdb.from.lo, imdb.from.hi], [1, 10]);
  const movielens = await readAll(MOVIELENS);
  assert.deepEqual(movielens.rows.map(({ name, title, value }) => [name, title, value]),
    [["457", "Fugitive, The (1993)", 4.5], ["1", "Toy Story (1995)", 2]]);
});

test("titles are found however they are written, and none that is another film's", () => {
  const titles = ["Fugitive, The (1993)", "Misérables, Les (1995)", "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
    "Godzilla (1954)", "Godzilla (1998)", "Seven (a.k.a. Se7en) (1995)", "Alien", "Dinosaur Planet (2003)"];
  const ids = titles.map((_, i) => String(i));
  const places = new Map([...titles.entries(), ...ids.entries()].map(([i, name]) => [name, i]));
  const find = finder({ ids, titles, find: (name) => places.get(name) });
  const at = (name, year) => find({ name, title: name, year });
  assert.equal(at("The Fugitive", "1993"), 0);
  assert.equal(at("the fugitive"), 0);
  assert.equal(at("The Fugitive", "1994"), 0);
  assert.equal(at("The Fugitive", "2020"), undefined);
  assert.equal(at("Les Miserables", "1995"), 1);
  assert.equal(at("La Cité des enfants perdus", "1995"), 2);
  assert.equal(at("The City of Lost Children", "1995"), 2);
  assert.deepEqual([at("Godzilla", "1954"), at("Godzilla", "1998"), at("Godzilla")], [3, 4, undefined]);
  assert.equal(at("Se7en", "1995"), 5);
  assert.equal(at("Alien", "1979"), 6);
  // Another site's number 7 is no planet of ours.
  assert.equal(find({ name: "7", title: "Toy Story (1995)" }), undefined);
  assert.equal(find({ name: "7", title: "Fugitive, The (1993)" }), 0);
  assert.equal(find({ name: "7", title: "Dinosaur Planet (2003)" }), 7);
  assert.equal(find({ name: "7" }), 7);
});

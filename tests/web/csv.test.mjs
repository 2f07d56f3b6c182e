/** A person's ratings as CSV: what goes out comes back, and what is no CSV says where. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { fromCsv, toCsv } from "../../web/js/page/csv.js";

const page = readFileSync(new URL("../../web/index.html", import.meta.url), "utf8");
/** As the page does, with the words of its document. */
const fail = (id, ...values) => {
  const [, words] = new RegExp(`<p id="${id}">(.*)</p>`).exec(page);
  throw new Error(words.replace(/#/g, () => values.shift()));
};
const read = (text, presence = false) => fromCsv(new Blob([text]), presence, fail);
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
  ])
    assert.deepEqual(await pairs(text), wanted, JSON.stringify(text));
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
  assert.deepEqual(row, { name: "x7", title: "=Alien", value: 5, line: 2 });
  const [alone] = await read("title,rating\nAlien,5\n");
  assert.deepEqual([alone.name, alone.title], ["Alien", "Alien"]);
});

test("what could mean something else is refused as the command line does", async () => {
  for (const [text, presence] of [["userId,movieId,rating\n1,2,3\n"], ["user,film,how good\na,b,c\n"], ["user,title\na,b\n", true]])
    await assert.rejects(read(text, presence), /Line 1 has a column of users/, text);
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

/** A person's ratings as CSV: what goes out comes back, and what is no CSV says where. */
import assert from "node:assert/strict";
import test from "node:test";

import { fromCsv, toCsv } from "../../web/js/page/csv.js";

const read = (text, presence = false) => fromCsv(new Blob([text]), presence);
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
    "film,how good\nAlien,5\n\n\"Heat, The\" ,3.5\n".replace('" ,', '",'),
  ])
    assert.deepEqual(await pairs(text), wanted, JSON.stringify(text));
  assert.deepEqual(await pairs("Alien,1\nAlien,4\n"), [["Alien", 4]]);
  assert.deepEqual(await pairs("title\nAlien\nHeat\n", true), [["Alien", 1], ["Heat", 1]]);
});

test("what is wrong is refused with the line it begins on", async () => {
  await assert.rejects(read('id,rating\n"two\nlines",4\nx,y\n'), /Line 4 needs a title and a number/);
  await assert.rejects(read('a,1\n"b"c,2\n'), /Line 2 has a quotation mark/);
  await assert.rejects(read("a,1\n,2\n"), /Line 2 needs/);
  await assert.rejects(read("a,Infinity\n,2\n"), /Line 1 needs|Line 2 needs/);
  await assert.rejects(read("\n \n"), /empty/);
  await assert.rejects(read("a,1\n".repeat(200_001)), /more than 200,000 lines/);
});

test("a large quoted field is read in no time", async () => {
  const long = `${"x".repeat(1 << 20)}""`;
  const [{ name }] = await read(`id,rating\n"${long}",3\n`);
  assert.equal(name.length, (1 << 20) + 1);
});

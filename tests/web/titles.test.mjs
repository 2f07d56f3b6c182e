/** Titles as people write them, and a search that forgives. */
import assert from "node:assert/strict";
import test from "node:test";

import { nameOf, partsOf, search } from "../../web/js/page/titles.js";

const TITLES = ["Matrix, The (1999)", "Star Wars: Episode IV - A New Hope (1977)", "Heathers (1989)", "Heat (1995)", "Amélie (2001)",
  "Good, the Bad and the Ugly, The (1966)", "Spider-Man (2002)", "Schindler's List (1993)", "$ (1971)", "Animatrix, The (2003)", "Law & Order (1990)"];
const COUNTS = [50, 90, 20, 10, 5, 40, 30, 60, 1, 2, 3];
const home = { catalog: { titles: TITLES }, counts: COUNTS };
const found = (question) => search(home, question).found.map((i) => partsOf(TITLES[i])[0]);

test("articles come first, as people say them", () => {
  for (const [title, name] of [
    ["Fugitive, The (1993)", "The Fugitive (1993)"],
    ["Good, the Bad and the Ugly, The (1966)", "The Good, the Bad and the Ugly (1966)"],
    ["City of Lost Children, The (Cité des enfants perdus, La) (1995)", "The City of Lost Children (La Cité des enfants perdus) (1995)"],
    ["Enfer, L' (1994)", "L'Enfer (1994)"],
    ["Bronx Tale, A", "A Bronx Tale"],
    ["Me, Myself & Irene (2000)", "Me, Myself & Irene (2000)"],
    ["Sorry, the Wrong Number", "Sorry, the Wrong Number"],
  ])
    assert.equal(nameOf(title), name);
  assert.deepEqual(partsOf("Postino, Il (The Postman) (1994)"), ["Il Postino (The Postman)", "1994"]);
  assert.deepEqual(partsOf("2001"), ["2001", ""]);
});

test("a search needs neither spaces nor accents nor signs, nor all letters", () => {
  assert.deepEqual(found("matrx"), ["The Matrix", "The Animatrix"]);
  assert.deepEqual(found("starwars"), ["Star Wars: Episode IV - A New Hope"]);
  assert.deepEqual(found("star wasr"), ["Star Wars: Episode IV - A New Hope"]);
  assert.deepEqual(found("spiderman"), ["Spider-Man"]);
  assert.deepEqual(found("spider man"), ["Spider-Man"]);
  assert.deepEqual(found("amelie"), ["Amélie"]);
  assert.deepEqual(found("schindlers lst"), ["Schindler's List"]);
  assert.deepEqual(found("law and order"), ["Law & Order"]);
  assert.deepEqual(found("the good bad"), ["The Good, the Bad and the Ugly"]);
  assert.deepEqual(found("$"), ["$"]);
});

test("what is spelt right comes alone, whole words and beginnings first", () => {
  assert.deepEqual(found("heat"), ["Heat", "Heathers"]);
  assert.deepEqual(found("matrix"), ["The Matrix", "The Animatrix"]);
  assert.equal(search(home, "heat").isGuess, false);
  assert.equal(search(home, "heet").isGuess, true);
});

test("what is like nothing finds nothing", () => {
  for (const question of ["nothing like it", "xyz", "zzzzzzzzzzzz", "mtx", "a".repeat(100)]) assert.deepEqual(found(question), []);
});

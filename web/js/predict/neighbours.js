/** Which own items are an item's neighbours, and by what weights: small systems, one for each item. */
import { factorize, solve, systemRoom } from "./model.js";

export const NEIGHBOURS = 20;
/** A neighbour is left out if those before it explain all but this share of its variance. */
const PIVOT = 0.05;
/** Up to so many own items what is between them is worked out once and kept. */
const MOST_KEPT = 1000;

/** Finds the neighbours of one item after the other among the same own items. */
export class Nearest {
  /**
   * @param {number} size how many own items there are
   * @param {(one: number, other: number) => number} between A, by places among them
   * @param {number} ridge @param {boolean} sorted as `choose` takes it
   */
  constructor(size, between, ridge, sorted) {
    this.between = between;
    this.ridge = ridge;
    this.sorted = sorted;
    /** Of the item in question to each own item, 0 or above; to be filled before `find`. */
    this.alike = new Float32Array(size);
    this._A = systemRoom(NEIGHBOURS);
    this._least = new Float64Array(NEIGHBOURS);
    if (size <= MOST_KEPT) {
      this._kept = new Float64Array(size ** 2);
      for (let p = 0; p < size; p++)
        for (let q = 0; q <= p; q++) this._kept[p * size + q] = this._kept[q * size + p] = between(p, q);
    }
    this._before = { count: 0, places: new Int32Array(NEIGHBOURS) };
    this._places = new Int32Array(NEIGHBOURS);
    this._weights = new Float64Array(NEIGHBOURS);
  }

  /** @param {(place: number) => number} beside a, by place; what is told is used again for the next item */
  find(beside) {
    const { alike, _A: A, _places: places, _weights: weights } = this;
    const count = choose(alike, Math.min(NEIGHBOURS, alike.length), places, this.sorted);
    let least = Infinity;
    for (let p = 0; p < count; p++) {
      weights[p] = beside(places[p]);
      least = Math.min(least, alike[places[p]]);
    }
    this._factorize(count);
    solve(A, count, NEIGHBOURS, weights);
    return { count, least, places, weights };
  }

  /** Where there are few own items, those of one item are often those of the next. */
  _factorize(count) {
    const { _A: A, _least: least, _places: places, _before: before, _kept: kept, between, ridge } = this;
    const size = this.alike.length;
    let same = count === before.count;
    for (let p = 0; same && p < count; p++) same = places[p] === before.places[p];
    if (same) return;
    before.count = count;
    before.places.set(places);
    for (let p = 0; p < count; p++) {
      for (let q = 0; q <= p; q++)
        A[p * NEIGHBOURS + q] = kept ? kept[places[p] * size + places[q]] : between(places[p], places[q]);
      A[p * NEIGHBOURS + p] += ridge;
      least[p] = PIVOT * Math.max(A[p * NEIGHBOURS + p], 0);
    }
    factorize(A, count, NEIGHBOURS, least);
  }
}

/** Rows in fours side by side, entry by entry. */
export function blocked(rows) {
  const width = rows[0]?.length;
  const blocks = new Float64Array((rows.length + 3) * width);
  rows.forEach((row, j) => row.forEach((one, f) => (blocks[(j - (j % 4)) * width + 4 * f + (j % 4)] = one)));
  return blocks;
}

/** The product of a goal with every row of the blocks. */
export function multiply(blocks, goal, products) {
  for (let j = 0, at = 0; j < products.length; j += 4) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let f = 0; f < goal.length; f++, at += 4) {
      a += goal[f] * blocks[at];
      b += goal[f] * blocks[at + 1];
      c += goal[f] * blocks[at + 2];
      d += goal[f] * blocks[at + 3];
    }
    products[j] = a;
    products[j + 1] = b;
    products[j + 2] = c;
    products[j + 3] = d;
  }
}

/**
 * Fill `chosen` with the places of the `most` largest similarities above 0, the earlier among equals.
 * The order, which decides whose pivot is given up, is Python's: the largest first if `sorted` or if
 * equals had to be parted, else that of the places.
 * @param {Float32Array} alike similarities, 0 or above
 * @returns {number} How many there are.
 */
function choose(alike, most, chosen, sorted) {
  let count = 0;
  let edge = 0;
  let parted = false;
  for (let place = 0; place < alike.length; place++) {
    const one = alike[place];
    if (one <= edge) {
      parted ||= one > 0 && one === edge;
      continue;
    }
    const fallen = edge;
    let spot = count < most ? count++ : most - 1;
    for (; spot > 0 && alike[chosen[spot - 1]] < one; spot--) chosen[spot] = chosen[spot - 1];
    chosen[spot] = place;
    if (count < most) continue;
    edge = alike[chosen[most - 1]];
    parted = fallen === edge;
  }
  if (sorted || parted) return count;
  for (let place = 0, at = 0; at < count; place++)
    if (alike[place] >= edge && alike[place] > 0) chosen[at++] = place;
  return count;
}

/** A ledger over time as a picture: a column for each charge, as high as what was spent after it, and those to come. */
import { atMost, brief, counted, el, words } from "./dom.js";
import { coinOf, guessesOf } from "./privacy.js";

const SVG = "http://www.w3.org/2000/svg";
/** In units of the picture: its size, and the room for what is written at its edges. */
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [720, 210, 44, 24, 18];

/** @param {string} tag @param {Record<string, string | number>} told @param {...(Node | string)} children */
function draw(tag, told, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(told)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Up to the rounding of sums. */
const fits = (value, most) => value <= most * (1 + 1e-9);

const dayOf = (time) => new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** @param {{unit: string, limit_epsilon: number, delta: number, charges: any[], ahead: (number | null)[]}} limit @returns {Node[]} */
export function pictureOf({ unit, limit_epsilon: most, delta, charges, ahead }) {
  if (!charges.length) return [];
  const spent = charges.map((charge) => charge.spent_epsilon ?? Infinity);
  const now = spent.at(-1);
  // A little above the limit and every column, for what is written there. Chosen.
  const top = 1.12 * Math.max(most, ...spent.filter(Number.isFinite));
  const places = spent.length + ahead.length;
  // As if there were eight columns at least: fewer would be too wide. Chosen.
  const step = (WIDTH - LEFT) / Math.max(places, 8);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(value, top) / top);
  const column = (value, i, look, said) => {
    const at = y(value ?? Infinity);
    const told = { x: LEFT + i * step + 1, y: at, width: Math.max(step - 3, 1), height: HEIGHT - BOTTOM - at, class: look, rx: 2 };
    return draw("rect", told, draw("title", {}, said));
  };
  const text = (x, at, said, anchor = "start") => draw("text", { x, y: at, "text-anchor": anchor }, said);
  const under = HEIGHT - 7;
  const last = charges.at(-1);
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "history", "aria-label": words("picture", spent.length, atMost(now), brief(most, 3)) },
    ...charges.map((charge, i) => column(charge.spent_epsilon, i, "past", `${dayOf(charge.time)}: ${charge.purpose}${charge.period ? `, ${charge.period}` : ""}, epsilon ${atMost(spent[i])}`)),
    ...ahead.map((value, i) => column(value, spent.length + i, fits(value, most) ? "next" : "next over", `${i + 1} more: epsilon ${atMost(value)}`)),
    draw("line", { x1: LEFT, x2: WIDTH, y1: y(most), y2: y(most), class: "most" }),
    text(LEFT - 8, y(most) + 4, brief(most, 2), "end"), text(LEFT - 8, HEIGHT - BOTTOM, "0", "end"),
    text(LEFT, y(most) - 6, "limit"),
    text(LEFT, under, dayOf(charges[0].time)),
    ...(spent.length > 4 && dayOf(last.time) !== dayOf(charges[0].time) ? [text(LEFT + spent.length * step, under, dayOf(last.time), "end")] : []),
    ...(ahead.length ? [text(WIDTH, under, "if more like the last follow", "end")] : []));
  const table = el("details", {}, el("summary", {}, counted(spent.length, "charge")), el("div.scroll", { tabIndex: 0, role: "region", ariaLabel: "Charges" },
    el("table", {}, el("thead", {}, el("tr", {}, ...["When", "What for", "Epsilon after it"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...charges.map((charge, i) => el("tr", {}, el("td", {}, dayOf(charge.time)), el("td.clamped", {}, charge.purpose + (charge.period ? `, ${charge.period}` : "")), el("td.number", {}, Number.isFinite(spent[i]) ? atMost(spent[i]) : "unbounded")))))));
  const means = Number.isFinite(now) ? words("spent-means", coinOf(unit), guessesOf(now, delta), guessesOf(most, delta)) : words("spent-unbounded", coinOf(unit));
  return [picture, el("p", {}, means), el("p", {}, nextOf(now, most, ahead)), table];
}

/** What the next ones cost, and how many there can be. */
function nextOf(now, most, ahead) {
  if (!ahead.length || ahead[0] === null) return "";
  const fitting = ahead.filter((value) => fits(value, most)).length;
  const cost = ahead[0] > now * (1 + 1e-9) ? words("next", atMost(now), atMost(ahead[0])) : words("next-free");
  return cost + (fitting ? (fitting < ahead.length ? words("next-fit", fitting) : words("next-many")) : words("next-none"));
}

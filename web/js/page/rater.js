/** The control that rates a title: stars as a radio group, or whatever the scale asks for. */
import { contains, levels } from "../scale.js";
import { brief, el } from "./dom.js";

const MOST_CHOICES = 11;
let made = 0;

/**
 * @param {import("../scale.js").Scale} scale
 * @param {string} title
 * @param {number | undefined} value the rating so far
 * @param {(value: number | null) => void} rate told a rating, or null if it is taken back
 * @returns {HTMLElement}
 */
export function rater(scale, title, value, rate) {
  const all = levels(scale);
  if (scale.presence) return toggle(title, value, (on) => rate(on ? scale.hi : null));
  const known = value !== undefined && contains(scale, value) ? value : undefined;
  if (!all || all.length > MOST_CHOICES) return slider(scale, title, known, rate);
  return choices(scale, all, title, known, rate);
}

function choices(scale, all, title, value, rate) {
  const name = `rating-${made++}`;
  const like = all[0] === scale.step ? { 1: "", 0.5: "halves" }[scale.step] : undefined;
  const box = el("fieldset", { className: `rater ${like ?? "chips"}` }, el("legend", { className: "sr" }, `Rate ${title}`));
  for (const level of all) {
    const input = el("input", { type: "radio", name, value: level, checked: Math.abs(level - (value ?? NaN)) < 1e-6 });
    const words = `${brief(level)} of ${brief(scale.hi)}`;
    input.setAttribute("aria-label", words);
    box.append(el("label", { title: words }, input, like === undefined ? brief(level) : ""));
  }
  box.addEventListener("change", (event) => rate(Number(event.target.value)));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Delete" && event.key !== "Backspace") return;
    for (const input of box.querySelectorAll("input")) input.checked = false;
    rate(null);
  });
  return box;
}

function slider(scale, title, value, rate) {
  const { lo, hi, step } = scale;
  const told = { type: "range", min: lo, max: hi, step: step ?? (hi - lo) / 200, "aria-label": `Rate ${title}` };
  const input = el("input", { ...told, value: value ?? (lo + hi) / 2 });
  const shown = el("output", {}, value === undefined ? "–" : brief(value));
  input.addEventListener("input", () => (shown.textContent = brief(Number(input.value))));
  input.addEventListener("change", () => rate(Number(input.value)));
  return el("div", { className: "rater" }, input, shown);
}

function toggle(title, value, rate) {
  const button = el("button", { type: "button", "aria-pressed": String(value !== undefined), "aria-label": `I know ${title}` }, "I know it");
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    rate(on);
  });
  return el("div", { className: "rater" }, button);
}

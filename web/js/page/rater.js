/**
 * The control that rates a title: stars as a radio group, or whatever the scale asks for. With the keyboard the
 * Delete key takes a rating back in all of them.
 */
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
  const box = el("fieldset", { className: `rater ${like ?? "chips"}` }, el("legend.sr", {}, `Rate ${title}`));
  for (const level of all) {
    const words = `${brief(level)} of ${brief(scale.hi)}`;
    const checked = Math.abs(level - (value ?? NaN)) < 1e-6;
    const input = el("input", { type: "radio", name, value: level, checked, "aria-label": words });
    box.append(el("label", { title: words }, input, like === undefined ? brief(level) : ""));
  }
  box.onchange = ({ target }) => rate(Number(target.value));
  return removable(box, () => {
    for (const input of box.querySelectorAll("input")) input.checked = false;
    rate(null);
  });
}

/** Let the Delete key do this. */
function removable(control, remove) {
  control.setAttribute("aria-keyshortcuts", "Delete");
  control.addEventListener("keydown", (event) => {
    if (event.key !== "Delete" && event.key !== "Backspace") return;
    event.preventDefault();
    remove();
  });
  return control;
}

/** A slider stands in the middle until the title is rated: to click or to press Enter there rates it too. */
function slider(scale, title, value, rate) {
  const { lo, hi, step } = scale;
  const told = { type: "range", min: lo, max: hi, step: step ?? (hi - lo) / 200, "aria-label": `Rate ${title}` };
  const input = el("input", told);
  const shown = el("output", { ariaHidden: "true" });
  let rated;
  const show = (now) => {
    shown.textContent = now === undefined ? "–" : brief(now);
    input.ariaValueText = now === undefined ? "not rated" : `${brief(now)} of ${brief(hi)}`;
  };
  const put = (now) => {
    rated = now;
    input.value = now ?? (lo + hi) / 2;
    show(now);
  };
  const take = () => {
    const now = Number(input.value);
    if (now === rated) return;
    rated = now;
    show(now);
    rate(now);
  };
  put(value);
  input.oninput = () => show(Number(input.value));
  input.onchange = input.onclick = take;
  input.addEventListener("keydown", ({ key }) => (key === "Enter" || key === " ") && take());
  removable(input, () => {
    if (rated !== undefined) rate(null);
    put(undefined);
  });
  return el("div.rater", {}, input, shown);
}

function toggle(title, value, rate) {
  const name = "I know it";
  const button = el("button", { "aria-label": `${name}: ${title}` }, name);
  const isOn = () => button.ariaPressed === "true";
  const turn = (on) => {
    button.ariaPressed = String(on);
    rate(on);
  };
  button.ariaPressed = String(value !== undefined);
  button.onclick = () => turn(!isOn());
  removable(button, () => isOn() && turn(false));
  return el("div.rater", {}, button);
}

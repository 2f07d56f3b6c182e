/** Making elements. Whatever comes from outside goes in as text, never as HTML. */

/** @param {string} id @returns {any} */
export const by = (id) => document.getElementById(id);

/**
 * An element with properties (or attributes where there is no such property) and children.
 * @param {string} kind its tag, and after a dot its class @param {Record<string, any>} [told] @param {...(Node | string)} children
 * @returns {any}
 */
export function el(kind, told = {}, ...children) {
  const [tag, className] = kind.split(".");
  /** @type {any} */
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(told)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** @param {Element} parent @param {...(Node | string)} children */
export const fill = (parent, ...children) => parent.replaceChildren(...children);

/** Say something in a place that screen readers listen to. @param {string} id @param {string} text */
export function say(id, text, wrong = false) {
  by(id).textContent = text;
  by(id).classList.toggle("wrong", wrong);
}

/** What the document has ready to be said, with values in the places of its #. @param {string} id @param {...any} values */
export const words = (id, ...values) => by("words").content.getElementById(id).textContent.replace(/#/g, () => values.shift());

/** Refuse with these words. @param {string} id @param {...any} values @returns {never} @throws {Error} always */
export function fail(id, ...values) {
  throw new Error(words(id, ...values));
}

/** Whether two things are written alike as JSON. @param {any} one @param {any} other */
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** @param {number} count @param {string} one @param {string} [many] */
export const counted = (count, one, many = `${one}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** @param {number} bytes @returns {string} */
export const sized = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${brief(bytes / 1e6, 1)} MB`);

/** What bounds something, rounded up; as in Python, by less than a billionth it may be below. @param {number} bound @param {number} [digits] */
export function atMost(bound, digits = 4) {
  const near = Number(bound.toPrecision(digits));
  const last = 10 ** (Math.floor(Math.log10(bound)) + 1 - digits);
  return String(near >= bound * (1 - 1e-9) ? near : Number((near + last).toPrecision(digits)));
}

/** @param {number} number with so many decimals at most */
export const brief = (number, decimals = 2) => String(Number(number.toFixed(decimals)));

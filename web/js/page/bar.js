/** The bar that stays in sight: what was just done, how to undo it, and the way to what comes of it. */
import { by, counted, say, words } from "./dom.js";

/** Milliseconds that the last step is shown; it can be undone longer than that, in its list. Chosen. */
const SHOWN = 12_000;

/** Steps that can be undone, the last one last. @type {(() => void)[]} */
const done = [];
let hiding = 0;
let isThere = false;

/** Something was done, and this undoes it. @param {string} said @param {() => void} undo */
export function did(said, undo) {
  done.push(undo);
  tell(said);
}

/** Tell the last step; after a while it goes, unless somebody is about to undo it. */
function tell(said) {
  say("done", said);
  by("undo").hidden = !done.length;
  by("step").hidden = !said;
  by("bar").hidden = !said && by("see").hidden;
  clearTimeout(hiding);
  if (said) hiding = window.setTimeout(() => tell(by("step").matches(":hover, :focus-within") ? said : ""), SHOWN);
}

/** How many are rated, and where to go from here. @param {{ratings: Map<string, any>, predictor: any}} home */
export function showBar({ ratings, predictor }) {
  const see = by("see");
  see.hidden = !predictor || !ratings.size;
  see.href = isThere ? "#rate-title" : "#you-title";
  see.textContent = isThere ? words("rate-more") : words("see-yours", counted(ratings.size, "title"));
  by("bar").hidden = by("step").hidden && see.hidden;
}

/** Nothing is left to undo. */
export function clearDone() {
  done.length = 0;
  by("see").hidden = true;
  tell("");
}

/** Follow what is in sight. @param {Parameters<typeof showBar>[0]} home */
export function watchBar(home) {
  by("undo").onclick = () => {
    done.pop()();
    tell(words("undone"));
    if (!done.length) by("rate-title").focus();
  };
  new IntersectionObserver(([entry]) => {
    isThere = entry.isIntersecting;
    if (by("main")) showBar(home);
  }, { rootMargin: "-45% 0px" }).observe(by("for-you"));
}

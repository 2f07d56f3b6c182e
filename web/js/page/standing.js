/** How the person stands with the service: what it has of them, and how to have it deleted. */
import { ask } from "../service.js";
import { alone, read, write } from "../store.js";
import { by, el, fill, say, words } from "./dom.js";

/** What is kept of contributions, by the names it is kept by. */
export const KEPT = ["contribution", "gone", "memory local-reports", "memory open-clusters"];

/** @returns {Promise<any[]>} it, in this order */
export const readStanding = () => Promise.all(KEPT.map(read));

/** Have the service delete what was sent, and the capability with it; nobody sends meanwhile. */
export const withdraw = () => alone(withdrawAlone);

/** The same for who has the store to themselves already. */
export async function withdrawAlone() {
  const { capability } = (await read("contribution")) ?? {};
  if (!capability) return;
  await ask("DELETE", "v1/enrolment", { why: "withdraw what you contributed", secret: capability }).catch((error) => {
    // The service has nothing of it any more.
    if (error.status !== 401) throw error;
  });
  await noteGone();
}

/** The service has nothing of the person any more; that it had stays known, and what was spent. */
export async function noteGone() {
  const [{ kind, message, done, had } = {}, gone] = await readStanding();
  const { events, answers } = (await read(`memory ${kind}`)) ?? {};
  const isSpent = gone?.spent || Boolean(events ?? answers);
  if (message) await write("gone", { was: Boolean(done || had || gone?.was), spent: isSpent });
  await write("contribution", undefined);
}

/** Where the page cannot show what was sent, or collects nothing: it can be withdrawn all the same. @param {any} record */
export function offerToWithdraw(record) {
  by("contribute").hidden = !record?.message;
  if (!record?.message) return;
  by("contribute-title").textContent = "What you contributed";
  by("contribute-label").hidden = true;
  say("contribute-said", words(record.done || record.had ? "is-there" : "may-be-there"));
  const button = el("button", { type: "button" }, "Withdraw it");
  button.addEventListener("click", () =>
    withdraw().then(
      () => {
        say("contribute-said", words("withdrawn"));
        fill(by("contribute-more"));
      },
      (error) => say("contribute-said", error.message, true),
    ));
  fill(by("contribute-more"), button);
}

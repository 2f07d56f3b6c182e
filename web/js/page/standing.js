/** How the person stands with the service: what it has of them, and how to have it deleted. */
import { ask } from "../service.js";
import { alone, read, write } from "../store.js";
import { by, el, fail, fill, say, words } from "./dom.js";

/** What is kept of contributions, by the names it is kept by. */
const KEPT = ["contribution", "gone", "memory local-reports", "memory open-clusters"];

/** @returns {Promise<any[]>} it, in this order */
export const readStanding = () => Promise.all(KEPT.map(read));

/** Have the service delete what was sent, and the capability with it; for who has the store to themselves. */
export async function withdrawAlone() {
  const record = await read("contribution");
  if (!record?.capability) return;
  const { done, had, was } = record;
  // Until it answers it may have deleted it, also if nobody is here to hear of it.
  await write("contribution", { ...record, done: false, had: false, was: done || had || was });
  await ask("DELETE", "v1/enrolment", { why: "why-undo", secret: record.capability, seconds: 10 }).catch(async (error) => {
    const { status } = error;
    // It has nothing of it any more, or never had.
    if (status === 401 || !record.message) return;
    // It was refused, so the service has what it had.
    if (status >= 400 && status < 500) await write("contribution", record);
    // It collects nothing now, and may have it all the same.
    if (status === 404 || status === 405) fail("no-withdrawing");
    throw error;
  });
  await noteGone();
}

/**
 * The service has nothing of what was sent last; that it had or may have had it stays known, and what was spent.
 * @param {any} [left] what is left of the record
 */
export async function noteGone(left) {
  const [{ message, done, had, was } = {}, gone, ...memories] = await readStanding();
  const spent = memories.some((each) => each?.events ?? each?.answers);
  if (message) await write("gone", { was: Boolean(done || had || was || gone?.was), spent });
  await write("contribution", left);
}

/** Where the page cannot show what was sent, or collects nothing: it can be withdrawn all the same. @param {any} record */
export function offerToWithdraw(record) {
  by("contribute").hidden = !record?.message;
  if (!record?.message) return;
  by("contribute-title").textContent = words("yours");
  by("contribute-label").hidden = by("contribute-what").hidden = true;
  say("contribute-said", words(record.done || record.had ? "is-there" : "may-be-there"));
  const onclick = () =>
    alone(withdrawAlone).then(
      () => {
        say("contribute-said", words("withdrawn"));
        fill(by("contribute-more"));
      },
      (error) => say("contribute-said", error.message, true),
    );
  fill(by("contribute-more"), el("button", { onclick }, "Withdraw it"));
}

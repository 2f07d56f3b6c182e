/** What the service asks of somebody new: nothing, an invitation, a token that another site signed, or work. */
import { askJson } from "../service.js";
import { read, write } from "../store.js";
import { by, counted, el, fail, say, words } from "./dom.js";

/** Bits of work that are done for a service: minutes. Chosen by hand: its challenges are good for ten. */
const MOST_BITS = 28;

/** A link may bring an invitation. It is kept until it is used, and leaves the address. @returns {Promise<boolean>} */
export async function takeInvitation() {
  const [, code] = location.hash.split("#invitation=");
  if (!code) return false;
  history.replaceState(null, "", location.pathname + location.search);
  await write("invitation", code);
  return true;
}

/** What the service asked for, when it was last asked. @type {any} */
let asked;
const askAgain = async () => (asked = await askJson("GET", "v1/enrolments", { why: "why-admission" }));

/** What somebody new is told and asked, for who is not enrolled yet. @returns {Promise<Element[]>} */
export async function admissionFields() {
  const { admission } = asked ?? (await askAgain());
  if (admission === "work") return [el("p", {}, words("work"))];
  if (admission === "open") return [];
  const value = (await read("invitation")) ?? "";
  const input = el("input", { id: "invitation", value, autocomplete: "off", autocapitalize: "off", spellcheck: false, "aria-describedby": "invitation-about" });
  return [
    el("p", {}, el("label", { htmlFor: "invitation" }, words(`ask-${admission}`)), input),
    el("p", { id: "invitation-about", className: "soft" }, words("invitation")),
  ];
}

/** Before anything is drawn or sent: without an invitation it would be in vain. */
export async function keepInvitation() {
  const input = by("invitation");
  const code = input?.value.trim();
  if (!input) return;
  if (!code) {
    input.focus();
    fail("need-invitation");
  }
  await write("invitation", code);
}

/** Enrolled: neither is of use any more. */
export const endAdmission = () => Promise.all(["invitation", "enrolling"].map((name) => write(name, undefined)));

/** Give what is asked for. @returns {Promise<object | undefined>} the body of an enrolment */
export async function prove() {
  const { admission } = asked ?? (await askAgain());
  if (admission === "open") return undefined;
  // It names its capability, and keeps it: if the answer is lost, asking again gets the same one.
  const capability = (await read("enrolling")) ?? (crypto.randomUUID() + crypto.randomUUID()).slice(0, 43);
  await write("enrolling", capability);
  if (admission !== "work") return { capability, invitation: (await read("invitation")) ?? fail("need-invitation") };
  // A challenge is good for a while only.
  const { challenge, bits } = await askAgain();
  if (!(bits > 0 && bits <= MOST_BITS) || !/^[\w=-]{1,200}$/.test(challenge)) fail("much-work");
  return { capability, challenge, nonce: await work({ challenge, bits }) };
}

/** Let a worker work, and show how far it is; whoever waits can stop it. @returns {Promise<string>} the nonce */
async function work(task) {
  const place = by("contribute-more");
  const choices = place.lastChild;
  const worker = new Worker(new URL("../work.js", import.meta.url));
  const [bar, left, stop] = [el("progress", { "aria-label": words("working") }), el("span"), el("button", {}, "Stop")];
  const shown = el("div.buttons", {}, bar, left, stop);
  choices.hidden = true;
  place.append(shown);
  stop.focus();
  say("contribute-said", words("working"));
  const begun = performance.now();
  try {
    return await new Promise((done, refuse) => {
      stop.onclick = () => refuse(new Error(words("work-stopped")));
      worker.onerror = () => refuse(new Error(words("much-work")));
      worker.onmessage = ({ data: { tried, nonce } }) => {
        if (nonce) return done(nonce);
        // Each try may be the one: this is the chance that it would have been found by now.
        const share = tried / 2 ** task.bits;
        bar.value = 1 - Math.exp(-share);
        if (tried) left.textContent = words("work-time", counted(Math.ceil((performance.now() - begun) / share / 6e4), "minute"));
      };
      worker.postMessage(task);
    });
  } finally {
    worker.terminate();
    shown.remove();
    choices.hidden = false;
    choices.firstChild.focus();
  }
}

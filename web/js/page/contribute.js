/**
 * Contributing: what would be sent beside what is true, sent only when the person says so, and
 * withdrawn when they say so. What a protocol remembers is kept before anything leaves.
 */
import { ask, askJson } from "../service.js";
import { alone, read, write } from "../store.js";
import { brief, by, counted, el, fill, say } from "./dom.js";
import { loadCatalog } from "./load.js";

const MOST_TRUE = 100;
const MOST_OTHERS = 5;

/** By protocol: how its module is used, and what it says before anything is drawn. */
const PROTOCOLS = {
  "local-reports": {
    what: "A report about every title of the catalogue is made here, yours and all the others, and changed by chance before it is sent. Nobody can be sure whether you rated a title, or how: not the service either.",
    load: () => import("../local_reports.js").then((m) => ({ ...m, Client: m.LocalClient, readSent: m.readReport })),
    before: ({ cost, spent, collection: { epsilon, epoch, items } }) => [
      ...(cost
        ? [`This costs epsilon ${brief(cost, 3)} for each rating, ${brief(cost * items, 3)} for everything that you rated and did not rate together: the smaller, the less it tells. No guess about a rating becomes more than ${brief(Math.exp(epsilon), 1)} times as likely by it. To withdraw it later does not undo the cost.`]
        : ["Your answers of this round are drawn already: to send them again as they are costs nothing, and your ratings of today change nothing in them."]),
      `Answers stay as they are for the whole round (${epoch}): a changed answer would show that a rating changed. The next round asks anew, and costs as much again.`,
      ...toldSoFar(spent.perRating),
    ],
    after: ({ spent }) => spent.sentences(),
    hidden: "not mentioned",
  },
  "open-clusters": {
    what: "Your ratings are sent among made-up ones, with a few bits about your taste. This is plausible deniability and no more: your true ratings are in what is sent, and nobody can be sure which ones they are.",
    load: () => import("../open_clusters.js").then((m) => ({ ...m, Client: m.OpenClient, readSent: m.readUpload })),
    before: (client) => [
      `${client.terms.percent} made-up ratings or more are sent for every hundred true ones, and so many that ${client.terms.least} titles or more look rated; ${client.terms.suppress} of a hundred true ratings are held back. No epsilon bounds what the ratings tell.`,
      hashOf(client),
      "What was sent stays as it was sent: new ratings join it a few at a time, and one that you change or take back stays. Made-up ratings stay too, so keep this browser's data: who loses it can only begin anew, and what both times have in common is then true.",
      ...toldSoFar(client.standing().hashEpsilon),
    ],
    after: (client) => client.standing().sentences(),
    hidden: "left out",
  },
};

const toldSoFar = (epsilon) => (epsilon ? [`Epsilon told so far: ${brief(epsilon, 3)}.`] : []);

/** Open clusters: what the hash tells, and what that costs. */
function hashOf({ cost, collection: { bits, hash_on: on, bit_epsilon_thousandths: isCovered } }) {
  const whole = `Your taste in ${counted(bits, "bit")}`;
  if (on === "obfuscated") return `${whole} is worked out from what is sent, made-up ratings included, and tells nothing beyond those.`;
  if (!isCovered) return `${whole} is sent as it is: nothing protects it, and no epsilon bounds what it tells.`;
  return cost
    ? `${whole} is changed by chance before it is sent. That costs epsilon ${brief(cost, 3)}, for one rating and for all alike, once a round. It covers these bits and not the ratings.`
    : `${whole} is changed by chance already: to send this answer again in this round costs nothing.`;
}

let home, record, current;
let last = Promise.resolve();

/**
 * Show the switch, if the service collects by a protocol that this page knows.
 * @param {any} page @param {string | undefined} collects @param {any} kept what was sent earlier
 */
export async function setUpContributing(page, collects, kept) {
  [home, record] = [page, kept];
  home.withdraw = withdraw;
  const kind = record?.kind ?? { local: "local-reports", open: "open-clusters" }[collects];
  if (!PROTOCOLS[kind]) return;
  by("contribute").hidden = false;
  say("contribute-what", PROTOCOLS[kind].what);
  by("contribute-switch").addEventListener("change", (event) => tried(event.target.checked ? prepare : turnOff));
  home.onChange = changed;
  if (record?.message) await tried(() => resume(collects));
}

/** One thing at a time; if it fails that is said, and the switch shows how things stand. */
function tried(work) {
  return (last = last
    .then(work)
    .catch((error) => say("contribute-said", error.message, true))
    .then(() => (by("contribute-switch").checked = Boolean(record?.message || current))));
}

const button = (text, work, look = "") => {
  const made = el("button", { type: "button", className: look }, text);
  made.addEventListener("click", async () => {
    await tried(work);
    // The button is gone: go on where it was.
    if (!made.isConnected) (by("contribute-more").querySelector(".scroll, input") ?? by("contribute-switch")).focus();
  });
  return made;
};
const paragraphs = (texts, look = "") => texts.map((text) => el("p", { className: look }, text));
const rows = (...all) => fill(by("contribute-more"), ...all);

/** What a collection needs: its protocol's module, the catalogue, the person's side of it. */
async function meet(announced) {
  const kind = announced?.protocol;
  const protocol = PROTOCOLS[kind];
  if (!protocol) throw new Error("The service collects by a protocol that this page does not know.");
  const catalog = announced.catalog === home.catalog.digest ? home.catalog : (await loadCatalog()).catalog;
  const { Client, readCollection, readSent } = await protocol.load();
  const collection = await readCollection(announced, catalog);
  const popularity = catalog === home.catalog ? home.counts : undefined;
  const make = async (memory) => new Client(collection, memory, { limit: (await read("limit")) ?? null, popularity });
  return { kind, announced, protocol, catalog, collection, readSent, make, memory: `memory ${kind}` };
}

/** The switch goes on: the terms, before anything is drawn. */
async function prepare() {
  say("contribute-said", "");
  current = await meet(await askJson("GET", "v1/collection", { why: "how the service collects" }));
  const client = await current.make((await read(current.memory)) ?? {});
  const look = "Decide before you look: if whether you send depends on how it came out, that tells something too.";
  rows(...paragraphs(current.protocol.before(client)), ...limitField(client), el("p", { className: "soft" }, look),
    el("div", { className: "buttons" }, button("Show what would be sent", draw, "main")));
}

/** Where there is something to pay: how much epsilon all of it together may cost. */
function limitField({ cost }) {
  if (!(cost > 0)) return [];
  const input = el("input", { type: "number", min: 0, step: "any", id: "limit", size: 6 });
  read("limit").then((limit) => (input.value = limit ?? ""));
  input.addEventListener("change", () => tried(() => write("limit", input.value === "" ? undefined : Math.max(Number(input.value), 0))));
  return [el("p", { className: "buttons" }, el("label", { htmlFor: "limit" }, "Never tell more in all than epsilon"), input)];
}

/** Make the message and keep what the protocol remembers; then show it. */
async function draw() {
  await navigator.storage?.persist?.();
  const message = await alone(async () => {
    const memory = (await read(current.memory)) ?? {};
    const made = await (await current.make(memory)).report(home.own(current.catalog, current.collection.scale));
    await write(current.memory, memory);
    return made;
  });
  if (record?.done && JSON.stringify(message) === JSON.stringify(record.message)) {
    await showSent();
    return say("contribute-said", "No update yet: a few new ratings are gathered first, so that a single one is not seen. What was sent stays as it was sent.");
  }
  await show(message, [button("Send this", () => send(message), "main"), button("Not now", turnOff)]);
  say("contribute-said", "Nothing has been sent yet.");
}

/** The true ratings beside what is sent. */
async function show(message, buttons) {
  const { catalog, collection, protocol, readSent } = current;
  const sent = readSent(message, collection);
  const own = home.own(catalog, collection.scale);
  const told = new Map(Array.from(sent.items, (item, i) => [item, brief(sent.ratings[i], 1)]));
  const line = (item, mine) =>
    el("tr", {}, el("td", {}, catalog.titles[item]), el("td", { className: mine ? "number" : "number made-up" }, mine ?? "not rated"),
      el("td", { className: told.has(item) ? "number" : "number made-up" }, told.get(item) ?? protocol.hidden));
  const rated = new Set(own.items);
  const others = Array.from(sent.items).filter((item) => !rated.has(item));
  const head = ["Title", "True", "Sent"].map((name, i) => el("th", { scope: "col", className: i ? "number" : "" }, name));
  const body = el("tbody", { id: "preview" }, ...Array.from(own.items).slice(0, MOST_TRUE).map((item, i) => line(item, brief(own.values[i]))),
    ...others.slice(0, MOST_OTHERS).map((item) => line(item)));
  const more = Math.max(others.length - MOST_OTHERS, 0);
  const bits = "hash" in sent ? [`Your taste in bits: ${sent.hash.toString(2).padStart(collection.bits, "0")}.`] : [];
  const client = await current.make((await read(current.memory)) ?? {});
  rows(el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "What is true beside what is sent" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), body)),
  ...paragraphs([`${more ? `And ${counted(more, "other title")} that you never rated. ` : ""}In all ${counted(JSON.stringify(message).length, "byte")}.`, ...bits], "soft"),
  ...paragraphs(protocol.after(client)), el("div", { className: "buttons" }, ...buttons));
}

/** Send it, in place of what was sent before; how far it came is kept before each step. */
async function send(message) {
  await alone(async () => {
    record = (await read("contribution")) ?? {};
    if (!record.capability) {
      const { capability } = await askJson("POST", "v1/enrolments", { why: "a random name for what you send" });
      if (!/^[\w-]{43}$/.test(capability)) throw new Error("The service sent no capability.");
      await write("contribution", (record = { capability }));
    }
    Object.assign(record, { kind: current.kind, announced: current.announced, message, done: false });
    await write("contribution", record);
    try {
      await ask("PUT", "v1/report", { why: "what you contribute", body: message, secret: record.capability });
    } catch (error) {
      if (error.status !== 401) throw error;
      await write("contribution", (record = undefined));
      throw new Error("The service did not know you any more; send again to begin anew.");
    }
    await write("contribution", (record = { ...record, done: true }));
  });
  await showSent();
}

async function showSent() {
  await show(record.message, [button("Withdraw it", turnOff)]);
  say("contribute-said", record.done ? "Sent. Thank you. It is part of the next release, until you withdraw it." : "It may have been sent, but the service did not say so. Send again, or withdraw it.", !record.done);
  if (!record.done) by("contribute-more").lastChild.prepend(button("Send again", () => send(record.message), "main"));
}

/** After a reload: what was sent, and whether the service has begun another round. */
async function resume(collects) {
  current = await meet(record.announced);
  await showSent();
  if (!collects) return;
  const now = await askJson("GET", "v1/collection", { why: "is it still the same round?" });
  if (JSON.stringify(now) === JSON.stringify(record.announced)) return;
  say("contribute-said", "The service collects by new terms now, and what you sent is not used for them.");
  by("contribute-more").lastChild.prepend(button("Look at the new terms", prepare, "main"));
}

/** Ratings changed: an update is offered where the protocol takes one. */
function changed() {
  if (!record?.done || record.kind !== "open-clusters" || by("update")) return;
  const update = button("Show an update", async () => {
    current = await meet(record.announced);
    await draw();
  });
  update.id = "update";
  by("contribute-more").lastChild?.prepend(update);
}

async function turnOff() {
  if (record?.capability) await withdraw();
  else say("contribute-said", "Nothing was sent.");
  current = undefined;
  rows();
}

/** Have the service delete what was sent, and the capability with it. */
async function withdraw() {
  await alone(async () => {
    record = await read("contribution");
    if (!record?.capability) return;
    await ask("DELETE", "v1/enrolment", { why: "withdraw what you contributed", secret: record.capability }).catch((error) => {
      // The service has nothing of it any more.
      if (error.status !== 401) throw error;
    });
    await write("contribution", (record = undefined));
  });
  say("contribute-said", "Withdrawn: the service has deleted it.");
}

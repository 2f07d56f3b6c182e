/**
 * Contributing: what would be sent beside what is true, sent only when the person says so, and
 * withdrawn when they say so. What a protocol remembers is kept before anything leaves.
 */
import { ask, askJson } from "../service.js";
import { alone, read, write } from "../store.js";
import { atMost, brief, by, counted, el, fill, say, words } from "./dom.js";
import { loadCatalog } from "./load.js";

const MOST_TRUE = 100;
const MOST_OTHERS = 5;

/** By protocol: how its module is used, and what it says before anything is drawn. */
const PROTOCOLS = {
  "local-reports": {
    load: () => import("../local_reports.js").then((m) => ({ ...m, Client: m.LocalClient, readSent: m.readReport })),
    before: ({ cost, spent, collection: { epsilon, epoch, items } }) => [
      cost ? words("cost", ...[cost, cost * items, Math.exp(epsilon)].map((bound) => atMost(bound))) : words("drawn"),
      words("epoch", epoch),
      ...(spent.reports ? spent.sentences() : []),
    ],
    after: ({ spent }) => spent.sentences(),
    hidden: "not mentioned",
  },
  "open-clusters": {
    load: () => import("../open_clusters.js").then((m) => ({ ...m, Client: m.OpenClient, readSent: m.readUpload })),
    before: (client) => [
      words("made-up", client.terms.percent, client.terms.least, client.terms.suppress),
      hashOf(client),
      words("stays"),
      ...toldSoFar(client.standing()),
    ],
    after: (client) => client.standing().sentences(),
    hidden: "left out",
  },
};

const toldSoFar = ({ hashEpsilon }) => (hashEpsilon ? [`Epsilon told so far: ${atMost(hashEpsilon)}.`] : []);

/** Open clusters: what the hash tells, and what that costs. */
function hashOf({ cost, collection: { bits, hash_on: on, bit_epsilon_thousandths: isCovered } }) {
  const covered = cost ? "cost" : "drawn";
  return words(`hash-${on === "obfuscated" ? on : isCovered ? covered : "bare"}`, counted(bits, "bit"), atMost(cost));
}

let home, record, current;
let last = Promise.resolve();

/**
 * Show the switch, if the service collects by a protocol that this page knows.
 * @param {any} page @param {string | undefined} collects @param {any} kept what was sent earlier
 */
export async function setUpContributing(page, collects, kept) {
  [home, record] = [page, kept];
  const kind = record?.kind ?? { local: "local-reports", open: "open-clusters" }[collects];
  if (!PROTOCOLS[kind]) return;
  by("contribute").hidden = false;
  say("contribute-what", words(`what-${kind}`));
  by("contribute-switch").addEventListener("change", (event) => tried(event.target.checked ? prepare : turnOff));
  home.onChange = () => by("update") && tried(offerUpdate);
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
    if (!made.isConnected) (by("contribute-more").querySelector(".scroll, input, button") ?? by("contribute-switch")).focus();
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
  const cost = client.cost > 0 ? [words("looking")] : [];
  rows(...paragraphs([...current.protocol.before(client), ...cost]), ...limitField(client), ...paragraphs([words("decide")], "soft"),
    el("div", { className: "buttons" }, button("Show what would be sent", () => draw(), "main")));
}

/** Where there is something to pay: how much epsilon all of it together may cost. */
function limitField({ cost, spent }) {
  if (!(cost > 0)) return [];
  const input = el("input", { type: "text", id: "limit", inputMode: "decimal", autocomplete: "off", size: 6 });
  read("limit").then((limit) => (input.value = limit ?? ""));
  input.addEventListener("change", () => tried(async () => {
    const limit = readLimit(input);
    await write("limit", limit);
    say("contribute-said", limit === undefined ? "There is no limit now." : `Your limit is epsilon ${limit} now.`);
  }));
  return [el("p", { className: "buttons" }, el("label", { htmlFor: "limit" }, `Never tell more than epsilon, ${spent ? "for each rating by all reports" : "by all answers about the hash"},`), input, "(empty: no limit)")];
}

/** Nothing is kept or drawn beside a limit that is none. */
function readLimit({ value }) {
  const [text, limit] = [value.trim(), Number(value)];
  if (!(limit >= 0 && limit < Infinity)) throw new Error(words("bad-limit"));
  return text ? limit : undefined;
}

/**
 * Make the message and keep what the protocol remembers; then show it. It stops where the collection knows
 * none of what the person rated: most likely that is not what they want, and it is theirs to decide.
 */
async function draw(anyway = false) {
  if (by("limit")) readLimit(by("limit"));
  const own = home.own(current.catalog, current.collection.scale);
  if (!own.items.length && !anyway) return askWhetherAnyway();
  await navigator.storage?.persist?.();
  const message = await alone(async () => {
    const memory = (await read(current.memory)) ?? {};
    const made = await (await current.make(memory)).report(own);
    await write(current.memory, memory);
    return made;
  });
  current.isDrawn = true;
  await show(message, [button("Send this", () => send(message), "main"), button("Not now", leave)]);
  say("contribute-said", "This has not been sent yet.");
}

function askWhetherAnyway() {
  const { size } = home.ratings;
  const none = size === 1 ? "The one title that you rated is not" : `None of the ${size} titles that you rated is`;
  const why = size ? `${none} among the ${counted(current.collection.items, "title")} of this collection.` : "You have rated nothing yet.";
  // Without noise on the hash an upload needs a rating.
  const can = current.collection.bit_epsilon_thousandths !== 0;
  rows(...paragraphs([why, words(can ? "anyway" : "nothing")]), el("div", { className: "buttons" },
    ...(can ? [button("Go on anyway", () => draw(true))] : []), button("Not now", leave, "main")));
  say("contribute-said", "");
}

/** Leave what was sent before as it is. */
const leave = () => (record?.message ? resume(true) : turnOff());

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
  const noisy = collection.mechanism === "modified-laplace" ? [words("past")] : [];
  const bits = "hash" in sent ? [`Your taste in bits: ${sent.hash.toString(2).padStart(collection.bits, "0")}.`] : [];
  const client = await current.make((await read(current.memory)) ?? {});
  rows(el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "What is true beside what is sent" },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), body)),
  ...paragraphs([`${more ? `And ${counted(more, "other title")} that you never rated. ` : ""}In all ${counted(JSON.stringify(message).length, "byte")}.`, ...noisy, ...bits], "soft"),
  ...paragraphs(protocol.after(client)), el("div", { className: "buttons" }, ...buttons));
}

/** Send it, in place of what was sent before; how far it came is kept before each step. */
async function send(message) {
  await alone(async () => {
    const { drawn } = await current.make((await read(current.memory)) ?? {});
    if (drawn && JSON.stringify(drawn) !== JSON.stringify(message)) throw new Error(words("stale"));
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
      await drop();
      throw new Error("The service did not know you any more; send again to begin anew.");
    }
    await write("contribution", (record = { ...record, done: true }));
  });
  await showSent();
}

async function showSent() {
  await show(record.message, [button("Withdraw it", turnOff)]);
  say("contribute-said", words(record.done ? "sent" : "perhaps"), !record.done);
  if (!record.done) by("contribute-more").lastChild.prepend(button("Send again", () => send(record.message), "main"));
  else if (record.kind === "open-clusters") {
    by("contribute-more").lastChild.before(el("p", { id: "update" }));
    await offerUpdate();
  }
}

/** By what is kept: an update, if one was drawn or enough is new, or how many ratings it waits for. */
async function offerUpdate() {
  if (!by("update")) return;
  const client = await current.make((await read(current.memory)) ?? {});
  const { news, more } = client.waits(home.own(current.catalog, current.collection.scale));
  const isSent = JSON.stringify(client.drawn) === JSON.stringify(record.message);
  const wait = news ? words("wait", counted(news, "rating"), more) : "";
  fill(by("update"), more && isSent ? wait : button("Show an update", () => draw()));
}

/** After a reload: what was sent, and whether the service has begun another epoch. */
async function resume(collects) {
  current = await meet(record.announced);
  await showSent();
  if (!collects) return;
  const now = await askJson("GET", "v1/collection", { why: "is it still the same epoch?" });
  if (JSON.stringify(now) === JSON.stringify(record.announced)) return;
  by("update")?.remove();
  say("contribute-said", words("new-terms"));
  by("contribute-more").lastChild.prepend(button("Look at the new terms", prepare, "main"));
}

async function turnOff() {
  if (record?.capability) await withdraw();
  else say("contribute-said", `Nothing was sent.${current?.isDrawn ? " What was drawn stays as it is, and counted." : ""}`);
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
    await drop();
  });
  say("contribute-said", "Withdrawn: the service has deleted it.");
}

/** The service has nothing of the person any more; that it had stays known, and what was spent. */
async function drop() {
  const { kind, message, done } = record;
  const { events, answers } = (await read(`memory ${kind}`)) ?? {};
  if (message) await write("gone", { was: done, spent: Boolean(events ?? answers) });
  await write("contribution", (record = undefined));
}

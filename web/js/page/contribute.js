/**
 * Contributing: what would be sent beside what is true, sent only when the person says so, and
 * withdrawn when they say so. What a protocol remembers is kept before anything leaves.
 */
import { toldIn } from "../protocol.js";
import { ask, askJson } from "../service.js";
import { alone, read, write } from "../store.js";
import { atMost, brief, by, counted, el, fill, same, say, words } from "./dom.js";
import { loadCatalog } from "./load.js";
import { noteGone, withdraw } from "./standing.js";

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

/** The page; the protocol that the service collects by and its terms; what was sent; what is in hand. @type {any} */
let home, collected, announced, record, current;
let last = Promise.resolve();

/**
 * Show the switch. What the service collects by is asked for and loaded by everybody's page, before it is
 * known whether anything was sent: the service cannot tell from that who contributes.
 * @param {any} page @param {string} kind the protocol that the service collects by
 */
export async function setUpContributing(page, kind) {
  [home, collected] = [page, kind];
  by("contribute").hidden = false;
  say("contribute-what", words(`what-${collected}`));
  by("contribute-switch").addEventListener("change", (event) => tried(event.target.checked ? prepare : turnOff));
  home.onChange = () => by("update") && tried(offerUpdate);
  home.onKept = () => tried(follow);
  await tried(begin);
}

async function begin() {
  let met, wrong;
  try {
    announced = await askJson("GET", "v1/collection", { why: "how the service collects" });
    met = await meet(announced);
  } catch (error) {
    wrong = error;
  }
  record = await read("contribution");
  if (record?.message) await resume(met);
  else if (wrong) throw wrong;
}

/** One thing at a time; if it fails that is said, and the switch shows how things stand. */
function tried(work) {
  return (last = last
    .then(() => by("main") && work())
    .catch((error) => by("main") && say("contribute-said", error.message, true))
    .then(() => by("main") && (by("contribute-switch").checked = Boolean(record?.message || current))));
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
async function meet(terms) {
  const kind = terms?.protocol;
  const protocol = PROTOCOLS[kind];
  if (!protocol) throw new Error(words("unknown-protocol"));
  const catalog = terms.catalog === home.catalog.digest ? home.catalog : (await loadCatalog()).catalog;
  const { Client, readCollection, readSent } = await protocol.load();
  const collection = await readCollection(terms, catalog);
  const popularity = catalog === home.catalog ? home.counts : undefined;
  const make = async (memory) => new Client(collection, memory, { limit: (await read("limit")) ?? null, elsewhere: await toldBeside(kind), popularity });
  return { kind, announced: terms, protocol, catalog, collection, readSent, make, memory: `memory ${kind}` };
}

/** What other protocols' answers have cost. */
async function toldBeside(kind) {
  const others = Object.keys(PROTOCOLS).filter((each) => each !== kind);
  const memories = await Promise.all(others.map((each) => read(`memory ${each}`)));
  return memories.reduce((sum, memory) => sum + toldIn(memory ?? {}), 0);
}

/** The switch goes on: the terms, before anything is drawn. */
async function prepare() {
  say("contribute-said", "");
  announced = await askJson("GET", "v1/collection", { why: "how the service collects" });
  current = await meet(announced);
  const client = await current.make((await read(current.memory)) ?? {});
  const cost = client.cost > 0 ? [words("looking")] : [];
  rows(...paragraphs([...current.protocol.before(client), ...cost]), ...limitField(client), ...paragraphs([words("decide")], "soft"),
    el("div", { className: "buttons" }, button("Show what would be sent", () => draw(), "main")));
}

/** Where there is something to pay: how much epsilon everything together may cost, by whatever protocol. */
function limitField({ cost }) {
  if (!(cost > 0)) return [];
  const input = el("input", { type: "text", id: "limit", inputMode: "decimal", autocomplete: "off", size: 6 });
  input.setAttribute("aria-describedby", "limit-about");
  read("limit").then((limit) => (input.value = limit ?? ""));
  input.addEventListener("change", () => tried(async () => {
    const limit = readLimit(input);
    await write("limit", limit);
    say("contribute-said", limit === undefined ? "There is no limit now." : `Your limit is epsilon ${limit} now.`);
  }));
  return [
    el("p", { className: "buttons" }, el("label", { htmlFor: "limit" }, "Never tell more than epsilon"), input, "(empty: no limit)"),
    el("p", { id: "limit-about", className: "soft" }, words("limit")),
  ];
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
  say("contribute-said", words("not-yet"));
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
const leave = () => (record?.message ? resume(current) : turnOff());

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
    if (drawn && !same(drawn, message)) throw new Error(words("stale"));
    record = (await read("contribution")) ?? {};
    if (!record.capability) {
      const { capability } = await askJson("POST", "v1/enrolments", { why: "a random name for what you send" });
      if (!/^[\w-]{43}$/.test(capability)) throw new Error(words("no-capability"));
      await keep({ capability });
    }
    const before = record;
    // What was there before is there until this takes its place.
    const had = Boolean(before.done || before.had);
    await keep({ ...before, kind: current.kind, announced: current.announced, message, done: false, had });
    try {
      await ask("PUT", "v1/report", { why: "what you contribute", body: message, secret: record.capability });
    } catch (error) {
      if (error.status === 401) {
        await noteGone();
        record = undefined;
        throw new Error(words("unknown-person"));
      }
      // It was refused, so nothing has changed; without an answer it may have arrived.
      if (error.status >= 400 && error.status < 500) await keep(before);
      throw error;
    }
    await keep({ ...record, done: true });
  });
  await showSent();
}

const keep = (told) => write("contribution", (record = told));

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
  const isSent = same(client.drawn, record.message);
  const wait = news ? words("wait", counted(news, "rating"), more) : "";
  fill(by("update"), more && isSent ? wait : button("Show an update", () => draw()));
}

/**
 * What was sent, and whether the service has begun another epoch. What belongs to terms that are not the
 * service's any more is not fetched to show it: that would tell who contributed.
 * @param {any} met the service's terms, if they are known
 */
async function resume(met) {
  const { announced: terms, kind } = record;
  const isKnown = kind === collected && [home.catalog, met?.catalog].some((each) => each?.digest === terms.catalog);
  current = same(met?.announced, terms) ? met : isKnown && (await meet(terms).catch(() => undefined));
  if (current) await showSent();
  else {
    rows(el("div", { className: "buttons" }, button("Withdraw it", turnOff)));
    say("contribute-said", words(record.done ? "is-there" : "may-be-there"));
  }
  if (!met || same(met.announced, terms)) return;
  by("update")?.remove();
  say("contribute-said", words("new-terms"));
  by("contribute-more").lastChild.prepend(button("Look at the new terms", prepare, "main"));
}

/** Another tab has sent or withdrawn something. */
async function follow() {
  const [now, before] = [await read("contribution"), record];
  if (same(now, before)) return;
  record = now;
  if (record?.message) return resume(announced && (await meet(announced)));
  if (!before?.message) return;
  current = undefined;
  rows();
  say("contribute-said", words("withdrawn-elsewhere"));
}

async function turnOff() {
  record = await read("contribution");
  if (record?.capability) {
    await withdraw();
    record = undefined;
    say("contribute-said", words("withdrawn"));
  } else say("contribute-said", `Nothing was sent.${current?.isDrawn ? " What was drawn stays as it is, and counted." : ""}`);
  current = undefined;
  rows();
}

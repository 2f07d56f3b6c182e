/**
 * Contributing: what would be sent beside what is true, sent only when the person says so, and
 * withdrawn when they say so. What a protocol remembers is kept before anything leaves.
 */
import { toldIn } from "../protocol.js";
import { ask, askJson } from "../service.js";
import { alone, read, write } from "../store.js";
import { admissionFields, endAdmission, keepInvitation, prove, takeInvitation } from "./admission.js";
import { atMost, brief, by, counted, el, fail, fill, same, say, words } from "./dom.js";
import { loadCatalog } from "./load.js";
import { guessesOf } from "./privacy.js";
import { noteGone, withdrawAlone } from "./standing.js";

const MOST_OTHERS = 5;

/** By protocol: how its module is used, and what it says before anything is drawn. */
const PROTOCOLS = {
  "local-reports": {
    load: () => import("../local_reports.js"),
    before: ({ cost, spent, collection: { epsilon, epoch, items } }) => [
      ...(cost ? [words("plain-cost", guessesOf(cost)), words("cost", ...[cost, cost * items, Math.exp(epsilon)].map((bound) => atMost(bound)))] : [words("drawn")]),
      words("period", epoch, sumOf(epsilon, epoch)),
      ...(spent.reports ? spent.sentences() : []),
    ],
    after: ({ spent }) => spent.sentences(),
    hidden: "not mentioned",
    everTrue: () => [],
  },
  "open-clusters": {
    load: () => import("../open_clusters.js"),
    before: (client) => [
      words("made-up", client.terms.percent, client.terms.least, client.terms.suppress),
      hashOf(client),
      words("stays"),
      ...toldSoFar(client.standing()),
    ],
    after: (client) => client.standing().sentences(),
    hidden: "left out",
    everTrue: ({ names, history }) => [...history.true_items, ...history.taken_back].map((at) => names[at][0]),
  },
};

const toldSoFar = ({ hashEpsilon }) => (hashEpsilon ? [words("told-so-far", atMost(hashEpsilon))] : []);

/** What something that is paid once a period adds up to. @param {number} epsilon @param {number} n periods so far */
const sumOf = (epsilon, n) => words("sum", atMost(12 * epsilon), n > 1 ? `all ${n}` : "the one", atMost(n * epsilon));

/** Open clusters: what the hash tells, and what that costs. */
function hashOf({ cost, collection: { bits, epoch, hash_on: on, bit_epsilon_thousandths: isCovered } }) {
  const covered = cost ? "cost" : "drawn";
  return words(`hash-${on === "obfuscated" ? on : isCovered ? covered : "bare"}`, counted(bits, "bit"), atMost(cost), sumOf(cost, epoch + 1));
}

/** The page. @type {any} */
let home;
/** The protocol that the service collects by. @type {any} */
let collected;
/** Its module. @type {any} */
let ours;
/** The catalogue that it collects on, if that is not the page's. @type {any} */
let listed;
/** What it offers. @type {any} */
let offered;
/** What was sent. @type {any} */
let record;
/** What is in hand. @type {any} */
let current;
/** @type {Promise<any>} */
let last = Promise.resolve();

/**
 * Show the switch. What the service collects by is asked for and loaded by everybody's page, before it is
 * known whether anything was sent: the service cannot tell from that who contributes.
 * @param {any} page @param {string} kind the protocol that the service collects by
 */
export async function setUpContributing(page, kind) {
  [home, collected] = [page, kind];
  by("contribute").hidden = false;
  by(`what-${collected}`).hidden = false;
  // Whoever switches off takes back what they have seen, and not what another tab has sent meanwhile.
  by("contribute-switch").onchange = ({ target }, seen = record) => tried(target.checked ? prepare : () => seen === record && turnOff());
  home.onChange = () => by("update") && tried(offerUpdate);
  home.onKept = () => tried(follow);
  onhashchange = () => tried(invite);
  await tried(begin);
  await tried(invite);
}

/** Somebody came with an invitation. */
async function invite() {
  if ((await takeInvitation()) && !record?.capability) note(words("invited"));
}

async function begin() {
  try {
    // First, and for everybody: whatever the service answers, nothing is loaded to show what was sent.
    await load();
    offered = await meet(await askTerms());
  } catch {
    // Whoever switches it on asks again, and is told.
  }
  record = await read("contribution");
  if (record?.message) await resume();
}

const load = async () => (ours ??= await PROTOCOLS[collected].load());
const askTerms = () => askJson("GET", "v1/collection", { why: "why-terms" });

/** One thing at a time; if it fails that is said, and the switch shows how things stand. */
function tried(work) {
  return (last = last
    .then(() => by("main") && work())
    .catch((error) => by("main") && note(error.message, true))
    .then(() => by("main") && (by("contribute-switch").checked = Boolean(record?.message || current))));
}

/** Said beside the switch; below it is what there is to decide. @param {[text: string, wrong?: boolean]} told */
const note = (...told) => say("contribute-said", ...told);
const below = () => by("contribute-more");

const button = (text, work, look = "") => {
  const onclick = async () => {
    await tried(work);
    // The button is gone: go on where it was.
    if (!made.isConnected) (below()?.querySelector(".scroll, input, button") ?? by("contribute-switch"))?.focus();
  };
  const made = el("button", { className: look, onclick }, text);
  return made;
};
const buttons = (...all) => el("div.buttons", {}, ...all);
const paragraphs = (texts, look = "") => texts.map((text) => el("p", { className: look }, text));
const rows = (...all) => fill(below(), ...all);
/** A heading that counts on from what is sent. */
const step = (name) => el("h4.step", {}, words(`step-${name}`));

/** The catalogue of this digest, if it is here. */
const known = (digest) => [home.catalog, listed].find((each) => each?.digest === digest);

/** What a collection needs: the catalogue, the person's side of it. */
async function meet(terms) {
  if (terms?.protocol !== collected) fail("other-protocol");
  const catalog = known(terms.catalog) ?? (listed = (await loadCatalog()).catalog);
  const { Client, readCollection, readSent } = ours;
  const collection = await readCollection(terms, catalog);
  const popularity = catalog === home.catalog ? home.counts : undefined;
  const memory = `memory ${collected}`;
  const make = async () =>
    new Client(collection, (await read(memory)) ?? {}, { limit: (await read("limit")) ?? null, elsewhere: await toldBeside(), popularity });
  // Whether they can be met here at all.
  await make();
  return { announced: terms, protocol: PROTOCOLS[collected], catalog, collection, readSent, make, memory };
}

/** What other protocols' answers have cost. */
async function toldBeside() {
  const others = Object.keys(PROTOCOLS).filter((each) => each !== collected);
  const memories = await Promise.all(others.map((each) => read(`memory ${each}`)));
  return memories.reduce((sum, memory) => sum + toldIn(memory ?? {}), 0);
}

/** The switch goes on. */
async function prepare() {
  note("");
  await load();
  await offer(await askTerms());
}

/** The terms, before anything is drawn. */
async function offer(terms) {
  const met = await meet(terms);
  const client = await met.make();
  const cost = client.cost > 0 ? [words("looking")] : [];
  rows(step("cost"), ...paragraphs(met.protocol.before(client)), ...limitField(client, await read("limit")),
    step("send"), ...(await newcomer()), ...paragraphs([words("look-first"), ...cost]), ...paragraphs([words("decide")], "soft"),
    buttons(button(words("show"), () => draw(), "main")));
  current = offered = met;
}

/** What the service asks of who is not enrolled. */
const newcomer = async () => ((await read("contribution"))?.capability ? [] : admissionFields());

/** Where there is something to pay: how much epsilon everything together may cost, by whatever protocol. */
function limitField({ cost }, value = "") {
  if (!(cost > 0)) return [];
  const onchange = () => tried(async () => {
    const limit = readLimit(input);
    await write("limit", limit);
    note(words(limit === undefined ? "no-limit" : "limit-now", limit));
  });
  const input = el("input", { id: "limit", value, inputMode: "decimal", autocomplete: "off", size: 6, "aria-describedby": "limit-about", onchange });
  return [
    el("p.buttons", {}, el("label", { htmlFor: "limit" }, words("never-more")), input),
    el("p", { id: "limit-about", className: "soft" }, words("limit")),
  ];
}

/** Nothing is kept or drawn beside a limit that is none. */
function readLimit({ value }) {
  const [text, limit] = [value.trim(), Number(value)];
  if (!(limit >= 0 && limit < Infinity)) fail("bad-limit");
  return text ? limit : undefined;
}

/**
 * Make the message and keep what the protocol remembers; then show it. It stops where the collection knows
 * none of what the person rated: most likely that is not what they want, and it is theirs to decide. The terms are asked
 * for again first, once: whoever goes on anyway sends what others do.
 */
async function draw(anyway = false) {
  const input = by("limit");
  // What is shown counts, also if the field was not left or another tab set another one.
  if (input && readLimit(input) !== (await read("limit"))) return void input.onchange();
  await keepInvitation();
  const terms = anyway ? current.announced : await askTerms();
  if (!same(terms, current.announced)) {
    await offer(terms);
    return note(words("changed"));
  }
  const own = home.own(current.catalog, current.collection.scale);
  if (!own.items.length && !anyway) return askWhetherAnyway();
  await navigator.storage?.persist?.();
  const message = await alone(async () => {
    const client = await current.make();
    const made = await client.report(own);
    await write(current.memory, client.memory);
    return made;
  });
  current.isDrawn = true;
  await showDraft(message);
  note(words("not-yet"));
}

async function showDraft(message) {
  const asked = await newcomer();
  await show(message, [button("Send this", () => send(message), "main"), button("Not now", leave)]);
  below().lastChild.before(...asked);
}

function askWhetherAnyway() {
  const { size } = home.ratings;
  const all = counted(current.collection.items, "title");
  const why = size > 1 ? words("none-of", size, all) : words(size ? "one-not" : "none-rated", all);
  // Without noise on the hash an upload needs a rating.
  const can = current.collection.bit_epsilon_thousandths !== 0;
  rows(...paragraphs([why, words(can ? "anyway" : "nothing")]),
    buttons(...(can ? [button("Go on anyway", () => draw(true))] : []), button("Not now", leave, "main")));
  note("");
}

/** Leave what was sent before as it is. */
const leave = async () => ((record = await read("contribution"))?.message ? resume() : turnOff());

/** The ratings of now beside what is sent. */
async function show(message, choices) {
  const { catalog, collection, protocol, readSent } = current;
  const { mechanism } = collection;
  const sent = readSent(message, collection);
  const own = home.own(catalog, collection.scale);
  const client = await current.make();
  const told = new Map(Array.from(sent.items, (item, i) => [item, brief(sent.ratings[i], 3)]));
  const cell = (text, instead) => el("td", { className: text ? "number" : "number made-up" }, text ?? instead);
  const line = ([item, mine, instead]) => el("tr", {}, el("td", {}, catalog.titles[item]), cell(mine, instead), cell(told.get(item), protocol.hidden));
  const mine = new Map(Array.from(own.items, (item, i) => [item, [item, brief(own.values[i])]]));
  // What was sent as a true rating stays one, whatever became of it here.
  for (const item of protocol.everTrue(client.memory.obfuscation).map(catalog.find))
    if (told.has(item) && !mine.has(item)) mine.set(item, [item, undefined, "taken back"]);
  const others = Array.from(sent.items).filter((item) => !mine.has(item));
  const head = ["Title", "Yours now", "Sent"].map((name, i) => el("th", { scope: "col", className: i ? "number" : "" }, name));
  const body = el("tbody", { id: "preview" }, ...[...mine.values()].map(line),
    ...others.slice(0, MOST_OTHERS).map((item) => line([item, undefined, "not rated"])));
  const more = Math.max(others.length - MOST_OTHERS, 0);
  const bits = "hash" in sent ? [words("taste", sent.hash.toString(2).padStart(collection.bits, "0"))] : [];
  rows(el("div.scroll", { tabIndex: 0, role: "region", "aria-label": words("beside") },
    el("table", {}, el("thead", {}, el("tr", {}, ...head)), body)),
  ...paragraphs([(more ? words("and-others", counted(more, "other title")) : "") + words("in-all", counted(JSON.stringify(message).length, "byte")), ...(mechanism ? [words(mechanism)] : []), ...bits], "soft"),
  ...paragraphs(protocol.after(client)), buttons(...choices));
}

/** Send it, in place of what was sent before; how far it came is kept before each step. */
async function send(message) {
  await keepInvitation();
  // Before the lock: work takes its time, and nobody else need wait.
  const proof = (await read("contribution"))?.capability ? undefined : await prove();
  const isStale = await alone(async () => {
    const { drawn } = await current.make();
    if (drawn && !same(drawn, message)) return true;
    record = (await read("contribution")) ?? {};
    if (!record.capability) {
      const { capability } = await askJson("POST", "v1/enrolments", { why: "why-name", body: proof });
      if (!/^[\w-]{43}$/.test(capability)) fail("no-capability");
      await keep({ capability });
      await endAdmission();
    }
    const before = record;
    // What was there before is there until this takes its place.
    const had = Boolean(before.done || before.had);
    await keep({ ...before, kind: collected, announced: current.announced, message, done: false, had });
    try {
      await ask("PUT", "v1/report", { why: "why-send", body: message, secret: record.capability });
    } catch (error) {
      // It was refused, so the service has what it had; but it was sent. Without an answer it may have arrived.
      const isUnknown = error.status === 401;
      if (error.status >= 400 && error.status < 500) await noteGone((record = isUnknown ? undefined : before));
      if (isUnknown) {
        below().lastChild.before(...(await newcomer()));
        fail("unknown-person");
      }
      throw error;
    }
    await keep({ ...record, done: true });
  });
  if (!isStale) return showSent();
  await draw(true);
  note(words("stale"), true);
}

const keep = (told) => write("contribution", (record = told));

async function showSent() {
  await show(record.message, [button("Withdraw it", turnOff)]);
  note(words(record.done ? "sent" : "perhaps"), !record.done);
  if (!record.done) below().lastChild.prepend(button("Send again", send.bind(null, record.message), "main"));
  else if (record.kind === "open-clusters") {
    below().lastChild.before(el("p", { id: "update" }));
    await offerUpdate();
  }
}

/** By what is kept: an update, if one was drawn or enough is new, or how many ratings it waits for. */
async function offerUpdate() {
  if (!by("update")) return;
  const client = await current.make();
  const { news, more } = client.waits(home.own(current.catalog, current.collection.scale));
  const isSent = same(client.drawn, record.message);
  const wait = news ? words("wait", counted(news, "rating"), more) : "";
  fill(by("update"), more && isSent ? wait : button("Show an update", () => draw()));
}

/**
 * What was sent, and whether the service has begun another period. What belongs to terms that are not the
 * service's any more is not fetched to show it: that would tell who contributed.
 */
async function resume() {
  const { announced: terms } = record;
  const isOffered = same(offered?.announced, terms);
  current = isOffered ? offered : known(terms.catalog) && (await meet(terms).catch(() => undefined));
  if (current) await showSent();
  else {
    rows(buttons(button("Withdraw it", turnOff)));
    note(words(record.done || record.had ? "is-there" : "may-be-there"));
  }
  if (!offered || isOffered) return;
  by("update")?.remove();
  note(words("new-terms"));
  below().lastChild.prepend(button("Look at the new terms", prepare, "main"));
}

/** Another tab has sent or withdrawn something. */
async function follow() {
  const [now, before] = [await read("contribution"), record];
  if (same(now, before)) return;
  record = now;
  if (record?.message) return resume();
  if (!before?.message) return;
  current = undefined;
  rows();
  note(words("withdrawn-elsewhere"));
}

async function turnOff() {
  const wasSent = record?.message ? "withdrawn" : (record || (await read("gone"))) ? "nothing-there" : "nothing-sent";
  // What another tab sends meanwhile is shown next, and not withdrawn unseen.
  await alone(async () => (record?.message || !(await read("contribution"))?.message) && withdrawAlone());
  note(`${words(wasSent)}${current?.isDrawn && !record?.message ? words("stays-drawn") : ""}`);
  record = current = undefined;
  rows();
}

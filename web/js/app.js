/** The page: rate, see recommendations change, and know what leaves the browser. */
import { clearDone, did, showBar, watchBar } from "./page/bar.js";
import { brief, by, counted, el, fail, fill, say, words } from "./page/dom.js";
import { refresh, showFound, showOwn, showRecommended } from "./page/lists.js";
import { loadCatalog, loadRelease } from "./page/load.js";
import { showGuarantee, showKept, showTraffic } from "./page/privacy.js";
import { offerToWithdraw, readStanding, withdrawAlone } from "./page/standing.js";
import { nameOf, plainTitles } from "./page/titles.js";
import { makePredictor, ownRatings, predictorChoices } from "./predict.js";
import { contains, nearest } from "./scale.js";
import { askJson, noteFile, watch, watchLoading } from "./service.js";
import * as store from "./store.js";

/** The protocols that this page knows, by the service's names for them. */
const COLLECTS = { local: "local-reports", open: "open-clusters" };
/** Where there is nothing to look up. */
const NO_CATALOG = { ids: [], titles: [], digest: "", find: () => undefined };

const MOST_SHOWN = 10;
const MOST_CHOICES = 200;

const { serviceWorker } = navigator;
/** How far the page has come, for who looks at it from outside. */
const state = document.documentElement.dataset;

/** What the page has at hand; the lists are handed all of it. */
const home = {
  /** In the order in which they were first given. @type {Map<string, {value: number, title: string, turn?: number}>} */
  ratings: new Map(),
  /** @type {any} */
  predictor: null,
  /** Ids of titles that are not to be recommended. @type {Set<string>} */
  hidden: new Set(),
  /** Ids of titles that the person does not know, so that they are not asked about them again. @type {Set<string>} */
  skipped: new Set(),
  /** By columns of the catalogue, the one value that is wanted. @type {Record<string, string>} */
  where: {},
  /** Whether an item is left out of lists. @param {number} index */
  skips: (index) =>
    home.hidden.has(home.catalog.ids[index]) ||
    Object.entries(home.where).some(([name, value]) => value && !valuesIn(home.catalog.columns[name][index]).has(value)),
  /** Leave these titles out of lists from now on, and no others. @param {string[]} ids @param {number} [index] the new one */
  hide(ids, index) {
    const before = [...home.hidden];
    if (index !== undefined) did(words("did-hide", titleAt(index)), () => home.hide(before));
    showHidden(ids);
    keep("hidden", ids);
  },
  /** Ask about other titles than this one. @param {number} index */
  skip(index) {
    const id = home.catalog.ids[index];
    did(words("did-skip", titleAt(index)), () => {
      home.skipped.delete(id);
      showFound(home);
      keepSkipped();
    });
    home.skipped.add(id);
    keepSkipped();
  },
  /** The person's rating of an item. @param {number} index */
  valueOf: (index) => home.ratings.get(home.catalog.ids[index])?.value,
  /** @param {number} index @param {number | null} value */
  rate(index, value) {
    const [id, title] = [home.catalog.ids[index], home.catalog.titles[index]];
    if (value === null) return home.take(id);
    const { presence, hi } = home.scale;
    change([[id, { value, title }]], presence ? words("did-know", titleAt(index)) : words("did-rate", titleAt(index), brief(value), brief(hi)));
    refresh(home, index, document.activeElement?.closest(".rows > li") ?? null);
  },
  /** Take a rating back. @param {string} id */
  take(id) {
    const index = home.catalog.find(id);
    change([[id, null]], words("did-take", nameOf(home.ratings.get(id)?.title ?? "")));
    if (index !== undefined) refresh(home, index, document.activeElement?.closest(".rows > li") ?? null);
  },
  /** Own ratings on a catalogue and a scale, by id or else by title. */
  own(catalog = home.catalog, scale = home.scale) {
    const pairs = new Map();
    for (const [id, { value, title }] of home.ratings) {
      const index = catalog.find(id) ?? catalog.find(title);
      if (index !== undefined) pairs.set(index, nearest(scale, value));
    }
    return ownRatings(pairs);
  },
  /** Ratings have changed. */
  onChange: () => {},
  /** Another tab has changed what is kept of contributions. */
  onKept: () => {},
};

/** How often ratings were changed here. */
let changed = 0;

/** A title as it is shown. @param {number} index */
const titleAt = (index) => nameOf(home.catalog.titles[index]);
const keep = (name, value) => store.write(name, value).catch(complain);
const keepSkipped = () => keep("skipped", [...home.skipped]);

/**
 * Ratings as they are now: shown at once, kept a moment later.
 * @param {[string, any][]} changes @param {string} [said] of it, and that it can be undone
 */
function change(changes, said) {
  changed++;
  const before = changes.map(([id]) => [id, home.ratings.get(id) ?? null]);
  if (said) did(said, () => undo(before));
  let turn = [...home.ratings.values()].at(-1)?.turn ?? 0;
  for (const [id, rating] of changes) {
    if (rating) home.ratings.set(id, { turn: home.ratings.get(id)?.turn ?? ++turn, ...rating });
    else home.ratings.delete(id);
  }
  rerank();
  showOwn(home, changes.length === 1 ? changes[0][0] : undefined);
  showBar(home);
  home.onChange();
  store.rate(changes.map(([id, rating]) => [id, rating && home.ratings.get(id)])).catch(complain);
}

/** Ratings as they were, in the order that they had. */
function undo(before) {
  change(before);
  home.ratings = new Map([...home.ratings].sort(([, one], [, other]) => one.turn - other.turn));
  showOwn(home);
  showFound(home);
}

/** Say what went wrong; when all is forgotten nothing goes wrong any more. */
function complain(error) {
  if (by("main")) say("notice", error.message, true);
}

function rerank() {
  if (!home.predictor) return;
  const begun = performance.now();
  const own = home.own();
  const entries = home.predictor.recommend(own, MOST_SHOWN, home.skips);
  performance.measure("rerank", { start: begun });
  showRecommended(home, entries);
  performance.measure("rerank and show", { start: begun });
  if (entries.length && state.ready) say("you-news", words("first-now", titleAt(entries[0].index)));
  const { parameters } = home.release;
  // Advice is given where too little was learnt.
  const isLittle = parameters.learnt?.advice?.length;
  if (isLittle || !own.items.length) say("you-said", words(isLittle ? "little" : "general"));
  const { lists, isRating } = home.predictor;
  const kind = lists && own.items.length && parameters.list_directions !== 0 ? "own" : "any";
  say("order", words(`order-${kind}-${isRating}`));
}

function showHidden(ids) {
  home.hidden = new Set(ids);
  by("unhide").hidden = !home.hidden.size;
  rerank();
}

/** The values of a column's cells, by their lower case: one to a bar. */
const valuesIn = (...cells) => new Map(cells.join("|").split("|").map((value) => [value.trim().toLowerCase(), value.trim()]));

/** Choices by public columns of the catalogue; those of very many values are left out. */
function showColumns(columns) {
  const choices = Object.entries(columns).map(([name, cells]) => {
    const values = [...valuesIn("", ...cells)].sort();
    const options = values.map(([value, text]) => el("option", { value }, text || "any"));
    const onchange = ({ target }) => {
      home.where[name] = target.value;
      rerank();
    };
    return options.length > MOST_CHOICES ? "" : el("label", {}, `${name} `, el("select", { onchange }, ...options));
  });
  fill(by("where"), ...choices);
}

/** Use a predictor, or the release's own if there is none of this name. */
async function choosePredictor(name) {
  const list = by("recommended");
  list.ariaBusy = "true";
  home.chosen = name;
  const predictor = await makePredictor(home.release, name).finally(() => (list.ariaBusy = null));
  // Another one may have been chosen meanwhile.
  if (home.chosen !== name) return;
  home.predictor = predictor;
}

async function open() {
  if (!globalThis.crypto?.subtle) fail("insecure");
  await tellKept();
  home.ratings = await store.ratings();
  home.skipped = new Set(await store.read("skipped"));
  home.hidden = new Set(await store.read("hidden"));
  showView((await store.read("view")) === "compact");
  try {
    const notice = await openCatalog();
    say("notice", notice);
    by("retry").hidden = !notice;
  } catch (error) {
    openWithout(error);
  }
  by("loading").hidden = true;
  by("main").hidden = false;
  showOwn(home);
  showHidden([...home.hidden]);
  showBar(home);
  state.ready = "yes";
  // What a search needs is worked out before somebody types.
  setTimeout(() => home.scale && plainTitles(home), 500);
}

/** Rows with room to look at, or close together. A class: a selector by :has would be looked at again at every star. */
function showView(isCompact) {
  by("view").checked = isCompact;
  by("main").classList.toggle("compact", isCompact);
}

/** The release, or before there is one the catalogue. @returns {Promise<string>} what is to be said of it */
async function openCatalog() {
  const loaded = await loadRelease();
  if (loaded) {
    const { release } = loaded;
    const [names, chosen] = [predictorChoices(release), await store.read("predictor")];
    Object.assign(home, { release, catalog: release.catalog, scale: release.scale, counts: release.arrays.item_counts?.data });
    await choosePredictor(names.includes(chosen) ? chosen : names[0]).catch(() => choosePredictor(names[0]));
    by("how").hidden = names.length < 2;
    fill(by("predictor"), ...names.map((name) => el("option", { selected: name === home.chosen }, name)));
    showGuarantee(loaded);
    showColumns(release.catalog.columns);
  } else {
    Object.assign(home, await loadCatalog());
    say("you-said", words("no-release"));
    fill(by("guarantee"), el("p", {}, words("no-release")));
  }
  showFound(home);
  return loaded?.notice ?? "";
}

/** Without titles nothing can be rated; what is here can be saved, withdrawn and forgotten all the same. */
function openWithout(error) {
  Object.assign(home, { release: null, predictor: null, catalog: NO_CATALOG, scale: null });
  for (const id of ["rate", "for-you", "import"]) by(id).hidden = true;
  fill(by("guarantee"), el("p", {}, words("unread")));
  by("retry").hidden = false;
  complain(error);
}

function listen() {
  watchBar(home);
  by("search").oninput = () => {
    home.alike = undefined;
    showFound(home);
  };
  by("view").onchange = ({ target }) => {
    showView(target.checked);
    keep("view", target.checked ? "compact" : "");
  };
  by("retry").onclick = () => location.reload();
  by("unhide").onclick = () => {
    home.hide([]);
    by("you-title").focus();
  };
  by("recommended").addEventListener("focusout", (event) => {
    if (event.currentTarget.querySelector(".rated") && !event.target.closest("li").contains(event.relatedTarget)) setTimeout(rerank);
  });
  by("predictor").onchange = ({ target: { value } }) => {
    // Kept at once: whoever leaves before it is there has chosen it.
    keep("predictor", value);
    choosePredictor(value).then(() => home.chosen === value && rerank()).catch(complain);
  };
  by("export").onclick = () => save().catch(complain);
  by("import").onclick = () => by("file").click();
  by("file").onchange = ({ target }) => {
    const file = target.files[0];
    target.value = "";
    if (file) take(file).catch((error) => say("csv-said", error.message, true));
  };
  by("forget").onclick = () => forget().catch(complain);
  serviceWorker?.addEventListener("message", ({ data }) => {
    for (const path of data.asked) noteFile(`/${path}`);
  });
  serviceWorker?.startMessages();
  store.onChange(async (what, elsewhere) => {
    if (what.startsWith("forgotten")) return showForgotten(what);
    if (what === "kept") return elsewhere ? Promise.all([tellKept(), home.onKept(), store.read("hidden").then(showHidden).catch(() => {})]) : tellKept();
    let before;
    do {
      before = changed;
      home.ratings = await store.ratings();
    } while (before !== changed);
    if (home.scale) showFound(home);
    showOwn(home);
    rerank();
    showBar(home);
    home.onChange();
  });
}

/** The part of the page that knows CSV; the worker's copy, if there is one. */
const csv = () => import("./page/csv.js");

async function save() {
  const { toCsv } = await csv();
  const file = new Blob([toCsv(home.ratings)], { type: "text/csv" });
  const link = el("a", { href: URL.createObjectURL(file), download: "my-ratings.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function take(file) {
  const { finder, fromCsv } = await csv();
  const { catalog, scale } = home;
  const { rows, blank, from } = await fromCsv(file, scale.presence, fail);
  const find = finder(catalog);
  const known = rows.map((row) => ({ ...row, at: find(row) })).filter(({ at }) => at !== undefined);
  const isOther = from && !scale.presence && (from.lo !== scale.lo || from.hi !== scale.hi);
  const off = known.find(({ value }) => !contains(from ? { ...from, step: null, presence: false } : scale, scale.presence ? scale.hi : value));
  if (off) fail("off-scale", off.line, (from ?? scale).lo, (from ?? scale).hi);
  // The ends of one scale are the ends of the other.
  const convert = (value) => nearest(scale, isOther ? scale.lo + ((value - from.lo) / (from.hi - from.lo)) * (scale.hi - scale.lo) : value);
  const count = counted(known.length, "rating");
  change(known.map(({ at, value }) => [catalog.ids[at], { value: convert(value), title: catalog.titles[at] }]), words("did-read", count));
  showFound(home);
  const missing = rows.length - known.length;
  say("csv-said", words("read", count) + (isOther ? words("csv-converted", from.lo, from.hi) : "") + (missing ? words("left-out", counted(missing, "title")) : "") + (blank ? words("csv-blank", blank) : ""));
}

async function forget() {
  const [sent, ...told] = await readStanding();
  const also = [sent?.message && "forget-sent", (sent || told.some(Boolean)) && "forget-told"].filter(Boolean);
  if (!(await sure(["forget", "forget-own", ...also].map((id) => words(id)).join(" ")))) return;
  const button = by("forget");
  button.disabled = true;
  say("notice", words("forgetting"));
  try {
    // Nobody sends meanwhile, in this tab or another: without its capability it could not be withdrawn.
    await store.alone(() => by("main") && forgetAlone());
  } finally {
    button.disabled = false;
    home.onKept();
  }
}

async function forgetAlone() {
  let last = "forgotten";
  try {
    await withdrawAlone();
  } catch (error) {
    if (!(await sure(`${error.message} ${words("forget-lost")}`))) return say("notice", "");
    last = "forgotten-left";
  }
  const isWhole = await store.forget(last);
  showForgotten(last, isWhole ? "anew" : "shell");
}

async function sure(question) {
  by("sure-what").textContent = question;
  by("sure").returnValue = "";
  by("sure").showModal();
  await new Promise((done) => (by("sure").onclose = done));
  return by("sure").returnValue === "forget";
}

/** Nothing of the person's stays, not even hidden. @param {string} last the words for it @param {string} [next] those for what to do next */
function showForgotten(last, next = "anew") {
  store.onChange(() => {});
  watch(() => {});
  home.ratings.clear();
  home.hidden.clear();
  home.skipped.clear();
  clearDone();
  home.predictor = null;
  home.onChange = home.onKept = () => {};
  by("main").remove();
  by("sure").close();
  say("pledge", words("nothing-kept"));
  say("notice", words(last) + words(next));
  by("notice").focus();
  state.ready = "forgotten";
}

async function workOffline() {
  if (!serviceWorker) return;
  noteFile("/worker.js");
  await serviceWorker.register(new URL("worker.js", store.HOME), { updateViaCache: "none" }).catch(() => {});
}

/** What is kept of contributions; if all was forgotten meanwhile, there is nothing to tell. */
const tellKept = () => readStanding().then(showKept).catch(() => {});

/**
 * If the service says that it collects, everybody's page does the same, whether its person has contributed or not. If
 * it does not say so, or the page has no titles, nothing is fetched, and what was contributed earlier can be withdrawn.
 */
async function offerToContribute() {
  const { collects } = await askJson("GET", "v1", { why: "why-offer" }).catch(() => ({}));
  const can = home.scale && Object.hasOwn(COLLECTS, collects ?? "");
  const part = can && (await import("./page/contribute.js").catch(() => null));
  if (part) return part.setUpContributing(home, COLLECTS[collects]);
  home.onKept = async () => offerToWithdraw(await store.read("contribution"));
  await home.onKept();
}

watch(showTraffic);
watchLoading();
listen();
try {
  await open();
  await workOffline();
  await offerToContribute();
} catch (error) {
  complain(error);
}

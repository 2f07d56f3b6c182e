/** The operator's page: the token is in this module's memory and in no other place. */
import { atMost, brief, by, el, fill, say, sized, words } from "./page/dom.js";
import { pictureOf } from "./page/history.js";
import { atDelta, plainPromise, promiseOf, whomOf } from "./page/privacy.js";
import { ask, askJson } from "./service.js";

const POLL = 700;
const ROUND = 10;
let token = "";

const pairs = (list, entries) =>
  fill(list, ...Object.entries(entries).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));

/** An answer, or undefined where there is none (404). */
const maybe = (method, path, told) =>
  askJson(method, path, told).catch((error) => {
    if (error.status !== 404) throw error;
  });

const healthy = (path) => ask("GET", path, { why: "health" }).then(() => "yes", (error) => `no: ${error.message}`);

/** The token is tried first: nothing is shown to whoever does not have it. */
async function look() {
  const numbers = await askJson("GET", "v1/admin/statistics", { why: "numbers", secret: token });
  const [index, about, past, runs, ready] = await Promise.all([
    askJson("GET", "v1", { why: "what is here" }),
    maybe("GET", "v1/release/about", { why: "the release" }),
    numbers.ledger.length ? askJson("GET", "v1/admin/ledger", { why: "the ledger", secret: token }).catch(() => undefined) : undefined,
    healthy("healthz"),
    healthy("readyz"),
  ]);
  if (!token) return numbers;
  // Replaced in between: its cost may not be in these numbers yet.
  if (about && about.sha256 !== numbers.served?.sha256) return look();
  pairs(by("health"), { "It runs": runs, "It can answer and store": ready, Version: index.version });
  showRelease(about);
  showLedger(numbers, about?.guarantee, past?.limits ?? []);
  await showCollection(index.collects, numbers);
  showBuild(numbers.build);
  say("when", `As of ${new Date().toLocaleTimeString("en-GB")}. Nothing is asked for again on its own.`);
  by("enter").hidden = true;
  by("main").hidden = false;
  say("said", "");
  return numbers;
}

function showRelease(about) {
  if (!about) return fill(by("release"), el("p", {}, "None has been built yet."));
  const list = el("dl");
  pairs(list, {
    Method: about.method, Titles: about.items.toLocaleString("en"), Scale: about.scale,
    Size: sized(about.bytes), "SHA-256": about.sha256,
  });
  const [headline, ...means] = plainPromise(about.guarantee);
  const numbers = el("details", {}, el("summary", {}, words("mathematics")), el("p", {}, el("b", {}, promiseOf(about.guarantee))), el("p", {}, about.guarantee.words));
  fill(by("release"), el("p.big", {}, headline), ...means.map((said) => el("p", {}, said)), numbers, list);
}

/** One limit of the ledger, as a bar that fills. Epsilons of several releases do not simply add up. */
function limitOf({ unit, spent_epsilon: told, limit_epsilon: limit, delta, population }) {
  const [whom, spent] = [whomOf(unit), told ?? Infinity];
  const left = Math.max(limit - spent, 0);
  const name = `Epsilon spent of the limit per ${whom}`;
  const said = left > limit * 1e-6 ? `${Math.floor(left * 1000) / 1000} is left of the limit; 'discreet ledger plan' tells how many releases that is.` : "Nothing is left: the ledger lets no more through.";
  return [
    el("p.big", {}, `Epsilon ${told === null ? "unbounded" : Math.min(Number(atMost(spent)), Number(brief(limit, 3)))} of ${brief(limit, 3)}`),
    el("progress", { max: limit, value: Math.min(spent, limit), className: left ? "" : "full", "aria-label": name }),
    el("p.clamped", { title: population }, `Spent per ${whom}${atDelta(delta)}, of ${population}. ${said}`),
  ];
}

/** The ledger if the service knows one, else what the release itself has spent. */
function showLedger({ ledger, ledger_reason: wrong }, guarantee, past) {
  if (wrong) return fill(by("ledger"), el("p.wrong", {}, `The ledger cannot be read. ${wrong}`));
  if (ledger.length) return fill(by("ledger"), ...ledger.flatMap((limit) => [...limitOf(limit), ...past.filter(({ unit }) => unit === limit.unit).flatMap(pictureOf)]));
  if (!guarantee || guarantee.not_private.length)
    return fill(by("ledger"), el("p", {}, guarantee ? "This release was made without a promise, so there is no budget to show." : "Nothing has been released yet."));
  const costs = guarantee.events.map(costOf);
  const whole = costs.reduce((sum, cost) => sum + cost, 0);
  const bars = guarantee.events.flatMap(({ label, count }, i) => [
    el("dt", {}, count > 1 ? `${label}, ${count} times` : label),
    el("dd", {}, el("progress", { max: whole, value: costs[i], "aria-label": label })),
  ]);
  fill(
    by("ledger"),
    el("p.big", {}, promiseOf(guarantee)),
    el("p", {}, "This is what the release itself spent. The bars show what on, as parts of the whole. The limit is in the curator's ledger, which this service was not told of."),
    el("dl", {}, ...bars),
  );
}

/** An event's share of the whole is in proportion to this: its rho of zero-concentrated privacy. */
const costOf = ({ kind, count, sensitivity, sigma, scale, epsilon }) =>
  (count * { gaussian: sensitivity / sigma, geometric: sensitivity / scale, pure: epsilon }[kind] ** 2) / 2;

/** Counts are rounded down: one person who comes or goes is seldom seen in them. */
async function showCollection(kind, numbers) {
  if (!kind) {
    pairs(by("collection"), { Collects: "nothing: this service only publishes" });
    return say("collection-about", "");
  }
  const terms = await maybe("GET", "v1/collection", { why: "the terms" });
  const { protocol, epoch, scale, bits } = terms ?? {};
  const epsilon = terms?.epsilon_thousandths ? { "Epsilon a rating": terms.epsilon_thousandths / 1000 } : {};
  pairs(by("collection"), {
    Collects: protocol ?? kind, Period: epoch, ...(scale ? { Scale: scale } : {}), ...epsilon, ...(bits ? { "Hash bits": bits } : {}),
    Enrolled: rough(numbers.enrolled), Reports: rough(numbers.reports), "Of this period's terms": rough(numbers.reports_of_collection),
  });
  say("collection-about", `Counts are rounded down to tens, so that one person who comes or goes is seldom seen in them; the exact ones tell who took part to whoever sees them before and after.`);
}

const rough = (count) => (count < ROUND ? `fewer than ${ROUND}` : `${(count - (count % ROUND)).toLocaleString("en")} or a few more`);

function showBuild(build) {
  by("building").hidden = !build;
  if (!build) return;
  const { state, reason, seconds, reports } = build;
  pairs(by("build"), {
    "Last build": state, ...(reason ? { Reason: reason } : {}), ...(seconds === undefined ? {} : { Took: `${seconds} s` }),
    ...(reports === undefined ? {} : { "Made of": rough(reports) }),
  });
  by("rebuild").disabled = state === "running";
}

async function rebuild() {
  by("rebuild").disabled = true;
  say("build-said", "Building; people are served the old release until the new one is whole.");
  await ask("POST", "v1/admin/rebuild", { why: "build", secret: token });
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL));
    // Who has left meanwhile is told nothing more.
    if (!token) return;
    const { build } = await askJson("GET", "v1/admin/statistics", { why: "is it built?", secret: token });
    if (!token) return;
    showBuild(build);
    if (build.state !== "running") break;
  }
  const { build } = await look();
  const built = build.state === "built";
  say("build-said", built ? "Built. Pages that are open see it when they are loaded again." : `Not built: ${build.reason ?? build.state}`, !built);
}

function leave() {
  token = "";
  by("main").hidden = true;
  by("enter").hidden = false;
  for (const place of by("main").querySelectorAll("dl, #release, #ledger")) fill(place);
  say("said", "");
  by("token").focus();
}

const tried = (work, place) => () =>
  work().catch((error) => {
    const isOut = error.status === 401 || error.status === 403;
    if (isOut) leave();
    say(isOut ? "said" : place, error.message, true);
    by("rebuild").disabled = false;
  });

by("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  token = by("token").value.trim();
  by("token").value = "";
  tried(look, "said")();
});
by("again").addEventListener("click", tried(look, "said"));
by("rebuild").addEventListener("click", tried(rebuild, "build-said"));
by("leave").addEventListener("click", leave);

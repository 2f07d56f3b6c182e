/** Offline after the first load: the page's own files, from the network if it answers, else kept. */

const FILES = [
  "./",
  "style.css",
  "icon.svg",
  "app.webmanifest",
  "js/app.js",
  "js/cluster_hash.js",
  "js/coins.js",
  "js/local_reports.js",
  "js/noise.js",
  "js/obfuscation.js",
  "js/open_clusters.js",
  "js/page/contribute.js",
  "js/page/csv.js",
  "js/page/dom.js",
  "js/page/lists.js",
  "js/page/load.js",
  "js/page/privacy.js",
  "js/page/rater.js",
  "js/predict.js",
  "js/predict/clusters.js",
  "js/predict/knn.js",
  "js/predict/model.js",
  "js/predict/pairs.js",
  "js/predict/posterior.js",
  "js/predict/predictor.js",
  "js/protocol.js",
  "js/random.js",
  "js/release.js",
  "js/same_hash.js",
  "js/scale.js",
  "js/service.js",
  "js/store.js",
];
// What a person may turn to later. To fetch it then would tell that they did, so it is fetched afresh
// whenever the page is, and comes from here.
const LATER = ["js/page/csv.js", "js/predict/knn.js", "js/predict/posterior.js"];
const HOME = new URL("./", location.href);
const CACHE = `discreet page ${HOME.pathname}`;
const place = (name) => new URL(name, HOME).href;
const KEPT = new Set(FILES.map(place));
const PATIENCE = 4000;
let renewed = Promise.resolve();

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { method, mode } = event.request;
  const url = event.request.url.split("#")[0];
  // Everything else, the service's answers above all, passes as if there were no worker.
  if (method !== "GET" || !KEPT.has(url)) return;
  if (mode === "navigate") event.waitUntil((renewed = renew().catch(() => {})));
  event.respondWith(LATER.some((name) => url === place(name)) ? later(event.request) : fresh(event.request));
});

async function keep(names, signal) {
  await (await caches.open(CACHE)).addAll(names.map((name) => new Request(place(name), { signal })));
  for (const page of await self.clients.matchAll({ includeUncontrolled: true })) page.postMessage({ kept: names });
}

async function install() {
  await keep(FILES);
  await self.skipWaiting();
}

async function renew() {
  if (await caches.has(CACHE)) await keep(LATER, AbortSignal.timeout(PATIENCE));
}

async function later(request) {
  await renewed;
  return (await caches.match(request.url, { cacheName: CACHE })) ?? fresh(request);
}

async function fresh(request) {
  const kept = await caches.match(request.url, { cacheName: CACHE });
  try {
    const signal = kept ? AbortSignal.timeout(PATIENCE) : undefined;
    const answer = await fetch(request, { signal });
    if (answer.ok && (await caches.has(CACHE))) await (await caches.open(CACHE)).put(request.url, answer.clone());
    return answer.ok || !kept ? answer : kept;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

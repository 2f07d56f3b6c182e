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
const HOME = new URL("./", location.href);
const CACHE = `discreet page ${HOME.pathname}`;
const KEPT = new Set(FILES.map((name) => new URL(name, HOME).href));
const PATIENCE = 4000;

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  // Everything else, the service's answers above all, passes as if there were no worker.
  if (method === "GET" && KEPT.has(url.split("#")[0])) event.respondWith(fresh(event.request));
});

async function keep() {
  await (await caches.open(CACHE)).addAll(FILES);
  for (const page of await self.clients.matchAll({ includeUncontrolled: true }))
    page.postMessage({ kept: FILES });
  await self.skipWaiting();
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

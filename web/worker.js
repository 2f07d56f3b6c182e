/**
 * Offline after the first load. The service puts four lines before this script: VERSION, the digest of all of the page's
 * files; PLAIN, what to keep that has no version in its address; OWN, what to keep of this version; and MORE, predictors
 * of this version, of which the page keeps those that its release needs. A document gets its own version's files and
 * never those of another, however the service changes meanwhile.
 */
const HOME = new URL("./", location.href);
const CACHE = `discreet page ${VERSION} ${HOME.pathname}`;
/** What the page keeps for its release. */
const SCRIPTS = `discreet predictors ${HOME.pathname}`;
const OURS = /^discreet page \w+ (.*)$/;
const place = (name) => new URL(name, HOME).href;
const below = (name) => `${VERSION}/${name}`;
const FILES = PLAIN.concat(OWN.map(below));
const KEPT = new Set(FILES.map(place));
const PATIENCE = 4000;

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const { method, mode } = event.request;
  const url = event.request.url.split("#")[0];
  if (method !== "GET") return;
  if (mode === "navigate" && url === HOME.href) event.respondWith(fresh(event.request));
  // Everything else, the service's answers above all, passes as if there were no worker.
  else if (KEPT.has(url) || /^[0-9a-f]{16}\//.test(url.replace(HOME.href, ""))) event.respondWith(kept(event.request));
});

/** Tell this service's pages what is asked for, whether or not it comes. */
async function tell(asked) {
  for (const page of await self.clients.matchAll({ includeUncontrolled: true }))
    if (page.url.startsWith(HOME.href)) page.postMessage({ asked });
}

/** All files or none, with those of MORE that the page kept, or that any version had before pages kept them. */
async function install() {
  const had = await caches.has(CACHE);
  const names = (await caches.has(SCRIPTS)) ? [SCRIPTS] : (await caches.keys()).filter((name) => OURS.exec(name)?.[1] === HOME.pathname);
  const kept = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
  const known = new Set(kept.flat().map(({ url }) => bare(url)));
  const files = FILES.concat(MORE.filter((name) => known.has(name)).map(below));
  const cache = await caches.open(CACHE);
  await tell(files);
  try {
    await cache.addAll(files.map((name) => new Request(place(name), { cache: "no-cache" })));
    const page = await (await cache.match(HOME.href)).text();
    if (!page.includes(VERSION)) throw new Error("The page is of another version by now.");
  } catch (error) {
    if (!had) await caches.delete(CACHE);
    throw error;
  }
  await self.skipWaiting();
}

/** A script's name in any version. */
const bare = (url) => url.replace(/.*(?=js\/)/, "");

/** The version before this one stays for tabs that are open with it. */
async function activate() {
  const ours = (await caches.keys()).filter((name) => OURS.exec(name)?.[1] === HOME.pathname && name !== CACHE);
  await Promise.all(ours.slice(0, -1).map((name) => caches.delete(name)));
  // So do its predictors. There are none, and no cache to be made, where everything was forgotten.
  const left = String(await caches.keys());
  const scripts = left.includes(SCRIPTS) && (await caches.open(SCRIPTS));
  for (const { url } of scripts ? await scripts.keys() : [])
    if (!left.includes(url.replace(HOME.href, "").slice(0, 16))) await scripts.delete(url);
  await self.clients.claim();
}

/** From the network if it answers. */
async function fresh(request) {
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(PATIENCE) });
    if (answer.ok) return answer;
  } catch {
    // What is kept is as good.
  }
  return (await caches.match(request.url, { cacheName: CACHE })) ?? fetch(request);
}

/** From what is kept: to ask for a file would tell what the person does. */
async function kept(request) {
  const copy = await caches.match(request.url);
  if (!copy) await tell([request.url.replace(HOME.href, "")]);
  return copy ?? fetch(request);
}

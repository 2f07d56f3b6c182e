/** Every request to the service goes through here, and is listed for the person to see. */
import { HOME } from "./store.js";

/**
 * @typedef {object} Sent
 * @property {string} method
 * @property {string} path
 * @property {number} bytes what we put into it: our headers and the body
 * @property {string} why
 * @property {string} [body] the body itself
 * @property {boolean} [loading] one of the page's own files
 */

/** @type {Sent[]} */
const sent = [];
/** @type {(all: Sent[]) => void} */
let tell = () => {};
const encoder = new TextEncoder();

/** @param {Sent} entry */
function note(entry) {
  sent.push(entry);
  tell(sent);
}

/** One of the page's own files. @param {string} path */
export const noteFile = (path) => note({ method: "GET", path, bytes: 0, why: "", loading: true });

/** @param {(all: Sent[]) => void} listener called now and with every request */
export function watch(listener) {
  tell = listener;
  tell(sent);
}

/** List the page's own files too: the browser knows what it fetched. */
export function watchLoading() {
  noteFile(location.pathname);
  new PerformanceObserver((list) => {
    /** @type {any[]} */
    const entries = list.getEntries();
    for (const entry of entries) {
      const { name, initiatorType, workerStart } = entry;
      // In the list already; or the worker's copy, which says itself what it asks for.
      if (initiatorType === "fetch" || workerStart) continue;
      noteFile(new URL(name).pathname);
    }
  }).observe({ type: "resource", buffered: true });
}

/** What the service said no with: `status` is 0 if there was no answer at all. */
class Refused extends Error {
  /** @param {string} reason @param {number} status */
  constructor(reason, status) {
    super(reason);
    this.status = status;
  }
}

/**
 * Ask the service.
 * @param {string} method
 * @param {string} path below the page's folder
 * @param {{why: string, body?: object, secret?: string, known?: string, seconds?: number, head?: number}} told
 *   why: the id of words for the person; secret: for the Authorization header; known: a digest that need not come again; seconds: for
 *   all of it; head: until the answer begins
 * @returns {Promise<Response>} of a good answer or 304
 * @throws {Refused}
 */
export async function ask(method, path, { why, body, secret, known, seconds = 30, head = seconds }) {
  /** @type {Record<string, string>} */
  const headers = {};
  const text = body && JSON.stringify(body);
  if (text) headers["Content-Type"] = "application/json";
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (known) headers["If-None-Match"] = `"${known}"`;
  const lines = Object.entries(headers).map((pair) => `${pair.join(": ")}\r\n`);
  note({ method, path: `/${path}`, bytes: encoder.encode(lines.join("") + (text ?? "")).length, why, body: text });
  const stop = new AbortController();
  const [begins] = [head, seconds].map((most) => setTimeout(() => stop.abort(), most * 1000));
  let answer;
  try {
    answer = await fetch(new URL(path, HOME), {
      method,
      headers,
      body: text,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: stop.signal,
    });
  } catch {
    throw new Refused("The service does not answer. Are you offline?", 0);
  }
  clearTimeout(begins);
  if (answer.ok || answer.status === 304) return answer;
  const reason = await answer.json().then((told) => String(told.reason), () => "");
  throw new Refused(reason.slice(0, 300) || `The service answered ${answer.status}.`, answer.status);
}

/** @type {(method: string, path: string, told: Parameters<typeof ask>[2]) => Promise<any>} */
export const askJson = async (...told) => {
  const answer = await ask(...told);
  return answer.json().catch(() => {
    throw new Refused("The service did not answer as it should.", 0);
  });
};

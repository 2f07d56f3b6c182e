/** What the service puts before the worker's script. */
declare const VERSION: string;
declare const PLAIN: string[];
declare const OWN: string[];
declare const MORE: string[];

/** What a service worker's own scope has beyond that of any worker. */
interface WorkerGlobalScope {
  readonly clients: Clients;
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => unknown): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => unknown): void;
}

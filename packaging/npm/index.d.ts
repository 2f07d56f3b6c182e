/** The scale of ratings; step is null where any number counts. */
export interface Scale {
  lo: number;
  hi: number;
  step: number | null;
  presence: boolean;
}

export interface Catalog {
  ids: string[];
  titles: string[];
  origin: string;
  digest: string;
  /** The index of an id or a title. */
  find(name: string): number | undefined;
}

/** A release file, checked: its format, every digest, its numbers. */
export interface Release {
  method: string;
  scale: Scale;
  catalog: Catalog;
  /** What it guarantees: epsilon, delta, unit, and `words` for people. */
  guarantee: any;
  parameters: Record<string, any>;
  arrays: Record<string, { shape: number[]; data: any }>;
}

/** Catalogue indices in rising order, and the ratings beside them, as `ownRatings` makes them. */
export interface Own {
  items: Int32Array;
  values: Float64Array;
}

export interface Recommendation {
  index: number;
  id: string;
  title: string;
  /** What lists are ordered by; it has no unit. */
  score: number;
  /** The expected rating, where the release predicts ratings. */
  expected: number | undefined;
  /** Own items, and by how much each raises the score. */
  because: { title: string; index: number; amount: number }[];
}

export interface Predictor {
  readonly release: Release;
  readonly name: string;
  /** The n items that come first among those not rated yet, the best first. */
  recommend(own: Own, n?: number, skips?: (item: number) => boolean): Recommendation[];
  /** Expected ratings of all items, not cut to the scale. */
  scores(own: Own): Float32Array;
  /** The indices of the items most like one. */
  similar(item: number, n?: number, skips?: (item: number) => boolean): number[];
}

/** Read a release file. Rejects with a reason in words if it is none, or damaged. */
export function readRelease(buffer: ArrayBuffer): Promise<Release>;
/** The predictors that read a release, its method's own first. */
export function predictorNames(release: Release): string[];
export function makePredictor(release: Release, name?: string): Promise<Predictor>;
/** Own ratings from pairs of catalogue index and rating, in any order. */
export function ownRatings(pairs: Iterable<[number, number]>): Own;
/** A person's query vector for an index of the vectors that `discreet export --vectors` writes. */
export function queryVector(predictor: Predictor, own: Own, order?: "lists" | "expected"): Float32Array;

/** Read a scale as people write it: `1..5`, `0.5..5/0.5`. */
export function readScale(text: string): Scale;

/** A source of random bits. */
export interface Random {
  words(count: number): BigUint64Array;
}
/** The system's cryptographic source: the only one that protects anybody. */
export function systemRandom(): Random;
/** Two-sided geometric noise of exact law, P(k) ~ exp(-|k|/scale). */
export function drawNoise(scale: number, count: number, random: Random): Int32Array;
/** Coins that show heads with odds ways e^-exponent, exactly. */
export function flipCoins(ways: number, exponent: number, count: number, random: Random): Uint8Array;

/** Read what a service announces at /v1/collection beside the catalogue that it speaks of. */
export function readLocalCollection(json: any, catalog: Catalog): Promise<any>;
export function readOpenCollection(json: any, catalog: Catalog): Promise<any>;
/** Local reports at home: answers are drawn once a period, kept, and repeated. */
export const LocalClient: any;
/** Open clusters at home. */
export const OpenClient: any;

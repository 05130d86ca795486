// The prices of Google's models, taken over from @pydantic/genai-prices while gmn is built. `src/models/prices.ts` reads them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProvider } from '@pydantic/genai-prices';
import { root } from './project.mjs';

export const PRICE_PACKAGE = '@pydantic/genai-prices';

/** The package's names of the rates that gmn can tell apart in a reply, and gmn's own. All are dollars per million tokens. */
const RATES = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cached',
  input_audio_mtok: 'inputAudio',
  cache_audio_read_mtok: 'cachedAudio',
  input_image_mtok: 'inputImage',
  input_video_mtok: 'inputVideo',
  output_audio_mtok: 'outputAudio',
  output_image_mtok: 'outputImage',
  output_video_mtok: 'outputVideo',
};

/**
 * Google's prices of models that the package does not have yet; its own row of a model wins. After Argon's and Carbon's
 * introductory period cached input keeps its share of the price of input, 5 %, which Google has not announced otherwise.
 * https://aistudio.google.com/docs/pricing
 */
const OWN_ROWS = [
  {
    match: { or: [{ starts_with: 'gemini-4-argon' }, { starts_with: 'gemini-4-carbon' }] },
    periods: [
      { price: { input: 2, output: 10, cached: 0.1 } },
      { from: '2026-12-01', price: { input: 4, output: 20, cached: 0.2 } },
    ],
  },
  { match: { starts_with: 'gemini-4-hydrogen' }, periods: [{ price: { input: 1.5, output: 7.5, cached: 0.075 } }] },
];

/** What esbuild and Vitest put in place of PRICE_TABLE: JSON, to be parsed when a price is first asked for. */
export function priceDefines() {
  return { PRICE_TABLE: JSON.stringify(JSON.stringify(readPriceTable())) };
}

/** Models that the Gemini wire format can ask for, in the package's order: the first match counts. */
function readPriceTable() {
  const manifest = join(root, 'node_modules', PRICE_PACKAGE, 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  const { models } = findProvider({ providerId: 'google' });
  return { version, rows: [...models.filter(({ id }) => /^gem(?:ini|ma)/.test(id)).map(toRow), ...OWN_ROWS] };
}

function toRow({ id, match, prices, price_comments: comments = '' }) {
  const periods = Array.isArray(prices) ? prices : [{ prices }];
  const priority = Number(/\bPriority tier is (\d+(?:\.\d+)?)x\b/.exec(comments)?.[1]);
  return {
    match,
    periods: periods.map(({ constraint, prices: each }) => ({
      ...(constraint && { from: readStart(id, constraint) }),
      price: { ...toPrice(id, each), ...(priority > 0 && { priority }) },
    })),
  };
}

function readStart(id, { type, start_date: start }) {
  if (type !== 'start_date') throw new Error(`${PRICE_PACKAGE}: the price of ${id} depends on ${type}`);
  return start;
}

/** A rate with steps becomes a rate of each step, so that a price reads like one of the settings. */
function toPrice(id, prices) {
  const price = {};
  const steps = new Map();
  for (const [key, value] of Object.entries(prices)) {
    const name = RATES[key];
    if (name === undefined) throw new Error(`${PRICE_PACKAGE}: ${id} has the rate ${key}, which gmn does not know`);
    price[name] = typeof value === 'number' ? value : value.base;
    for (const { start, price: rate } of value.tiers ?? []) {
      steps.set(start, { above: start, ...steps.get(start), [name]: rate });
    }
  }
  const sorted = [...steps.values()].sort((a, b) => a.above - b.above);
  return { ...price, ...(sorted.length > 0 && { steps: sorted }) };
}

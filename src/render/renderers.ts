import { OUTPUT_FORMATS, type OutputFormat } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Io } from '../core/io.ts';
import type { MakeRenderer, Renderer, RenderOptions } from './renderer.ts';

type Load = (dialect: RenderOptions['dialect']) => Promise<MakeRenderer>;

export const renderers = {
  text: async () => (await import('./text.ts')).textRenderer,
  json: async (dialect) =>
    dialect === 'gemini'
      ? (await import('./gemini-dialect.ts')).geminiJsonRenderer
      : (await import('./json.ts')).jsonRenderer,
  'stream-json': async (dialect) =>
    dialect === 'gemini'
      ? (await import('./gemini-dialect.ts')).geminiStreamJsonRenderer
      : (await import('./stream-json.ts')).streamJsonRenderer,
} as const satisfies Record<OutputFormat, Load>;

/** Enough to report a failure before a run: the clock stands still, and nothing ticks. */
const OUTSIDE_A_RUN: RenderOptions = {
  quiet: false,
  showThoughts: false,
  showUsage: false,
  render: 'auto',
  rawOutput: false,
  isDumb: false,
  dialect: 'gmn',
  prompt: '',
  clock: { now: () => 0 },
  ticker: { every: () => () => {} },
};

export async function openRenderer(format: string, io: Io, options: RenderOptions = OUTSIDE_A_RUN): Promise<Renderer> {
  if (!isFormat(format)) {
    throw new AppError('usage', `there is no output format "${format}"`, {
      hint: `Choose one of: ${OUTPUT_FORMATS.join(', ')}`,
    });
  }
  const load: Load = renderers[format];
  return (await load(options.dialect))(io, options);
}

export function failureRenderer(format: string, dialect: string, io: Io): Promise<Renderer> {
  return openRenderer(format, io, { ...OUTSIDE_A_RUN, dialect: dialect === 'gemini' ? 'gemini' : 'gmn' });
}

function isFormat(format: string): format is OutputFormat {
  return Object.hasOwn(renderers, format);
}

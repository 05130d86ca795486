import { OUTPUT_FORMATS, type OutputFormat } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Io } from '../core/io.ts';
import type { MakeRenderer, Renderer, RenderOptions } from './renderer.ts';

interface FormatRow {
  /** What docs/output.md says of it, in a table made of these rows. */
  readonly stdout: string;
  readonly stderr: string;
  readonly use: string;
  readonly load: (dialect: RenderOptions['dialect']) => Promise<MakeRenderer>;
}

export const renderers = {
  text: {
    stdout: 'the answer as it streams',
    stderr: 'notices, progress, errors',
    use: 'people, pipes',
    load: async () => (await import('./text.ts')).textRenderer,
  },
  json: {
    stdout: 'one object at the end',
    stderr: 'empty',
    use: 'scripts that want the whole answer',
    load: async (dialect) =>
      dialect === 'gemini'
        ? (await import('./gemini-dialect.ts')).geminiJsonRenderer
        : (await import('./json.ts')).jsonRenderer,
  },
  'stream-json': {
    stdout: 'one object a line, as things happen',
    stderr: 'empty',
    use: 'programs that show or act while it runs',
    load: async (dialect) =>
      dialect === 'gemini'
        ? (await import('./gemini-dialect.ts')).geminiStreamJsonRenderer
        : (await import('./stream-json.ts')).streamJsonRenderer,
  },
} as const satisfies Record<OutputFormat, FormatRow>;

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
  if (!Object.hasOwn(renderers, format)) {
    throw new AppError('usage', `there is no output format "${format}"`, {
      hint: `Choose one of: ${OUTPUT_FORMATS.join(', ')}`,
    });
  }
  const { load }: FormatRow = renderers[format as OutputFormat];
  return (await load(options.dialect))(io, options);
}

export function failureRenderer(format: string, dialect: string, io: Io): Promise<Renderer> {
  return openRenderer(format, io, { ...OUTSIDE_A_RUN, dialect: dialect === 'gemini' ? 'gemini' : 'gmn' });
}

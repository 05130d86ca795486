import { AppError } from '../core/error.ts';
import type { Env, Out } from '../core/io.ts';

/** The flags that say what becomes of an answer. */
export interface OutputOptions {
  readonly extract?: boolean;
  readonly extractLast?: boolean;
  readonly outputFile?: string;
  readonly copy?: boolean;
  readonly pager?: boolean;
  readonly noStream?: boolean;
}

/** The rest of what they depend on. */
export interface OutputSetting extends OutputOptions {
  readonly outputFormat?: 'text' | 'json' | 'stream-json';
  readonly outputSchema?: string;
  readonly dryRun?: boolean;
  readonly countTokens?: boolean;
  readonly quiet?: boolean;
}

/** Whether the answer is read in a pager: as text, on a terminal, if the flag or `GMN_PAGER` says so. */
export function isPaged({ pager, outputFormat = 'text', dryRun, countTokens }: OutputSetting, env: Env, out: Out) {
  return Boolean(pager || env.GMN_PAGER) && outputFormat === 'text' && !dryRun && !countTokens && out.isTerminal;
}

/** Throws AppError `usage` for flags of which one would be in vain. */
export function checkOutput(options: OutputSetting): void {
  const { extract, extractLast, outputSchema, outputFormat = 'text' } = options;
  if (extract && extractLast) throw clash('--extract', '--extract-last');
  const taken = extract ? '--extract' : extractLast ? '--extract-last' : undefined;
  if (taken !== undefined && outputSchema !== undefined) throw clash(taken, '--output-schema');
  if (options.pager && outputFormat !== 'text') throw clash('--pager', `-o ${outputFormat}`);
  if (options.noStream && outputFormat === 'stream-json') throw clash('--no-stream', '-o stream-json');
  const unasked = options.dryRun ? '--dry-run' : options.countTokens ? '--count-tokens' : undefined;
  const written = options.outputFile === undefined ? undefined : '--output-file';
  const shown = options.pager ? '--pager' : options.noStream ? '--no-stream' : undefined;
  const first = taken ?? written ?? (options.copy ? '--copy' : shown);
  if (unasked !== undefined && first !== undefined) throw clash(first, unasked);
}

function clash(one: string, other: string): AppError {
  return new AppError('usage', `${one} cannot be combined with ${other}`, { hint: 'Use one of them.' });
}

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
  readonly dryRun?: boolean;
  readonly countTokens?: boolean;
  readonly quiet?: boolean;
}

/** Whether the answer is read in a pager: as text, on a terminal, if the flag or `GMN_PAGER` says so. */
export function isPaged({ pager, outputFormat = 'text', dryRun, countTokens }: OutputSetting, env: Env, out: Out) {
  return Boolean(pager || env.GMN_PAGER) && outputFormat === 'text' && !dryRun && !countTokens && out.isTerminal;
}

import type { App, OutputFormat } from '../core/app.ts';
import type { PrintOptions } from './report.ts';

interface NoticeCollector {
  /** For what may wait until the output has begun: printed at once on a terminal only. */
  readonly notify: (message: string) => void;
  /** The same, printed at once in a pipe, too. */
  readonly say: (message: string) => void;
  /** What was not printed, for the notices or the stream. */
  readonly take: () => readonly string[];
}

/** For what a credential and a backend say before there is an answer. */
export function createNoticeCollector(
  { quiet, json, outputFormat = 'text' }: PrintOptions & { readonly outputFormat?: OutputFormat },
  { io }: App,
): NoticeCollector {
  const isText = !quiet && !json && outputFormat === 'text';
  const kept: string[] = [];
  const print = (message: string): void => void io.err.write(`gmn: ${message}\n`).catch(() => {});
  const keep = (message: string): void => void kept.push(message);
  return {
    take: () => kept.splice(0),
    notify: (message) => (isText && io.err.isTerminal ? print : keep)(message),
    say: isText ? print : keep,
  };
}

import { printPaged } from '../../app/output.ts';
import type { WordOptions } from '../../app/report.ts';
import { toSessionJson } from '../../app/sessions.ts';
import type { App } from '../../core/app.ts';
import { findToolError, type Part, type ResponsePart, type StoredContent } from '../../core/content.ts';
import { AppError } from '../../core/error.ts';
import { describeFile } from '../../core/files.ts';
import type { Compaction } from '../../core/history.ts';
import type { SavedRecord } from '../../core/session.ts';
import { takeBefore } from '../../core/text/trim.ts';
import { openStore } from '../../engine/session/sessions.ts';

export function requireReference({ args }: WordOptions, verb: string): string {
  const [reference, ...others] = args;
  if (reference !== undefined && others.length === 0) return reference;
  throw new AppError('usage', `sessions ${verb} takes one session`, { hint: `Example: gmn sessions ${verb} last` });
}

export interface ShowOptions extends WordOptions {
  readonly md?: boolean;
}

/** Prints a session in order. Throws AppError `usage` if there is no such session. */
export async function run({ md, ...options }: ShowOptions, app: App): Promise<number> {
  if (md) {
    const args = [requireReference(options, 'show')];
    return (await import('./export.ts')).run({ args, format: 'md', quiet: options.quiet ?? false }, app);
  }
  const store = openStore(app, () => {});
  const saved = await store.read(await store.find(requireReference(options, 'show')));
  const { summary, records, compactions = [], notices } = saved;
  const json = records.map(({ at, ...record }) => ({ time: new Date(at).toISOString(), ...record }));
  const text = `${records.map(formatSavedRecord).join('')}${await formatCompactions(compactions)}`;
  const session = toSessionJson(summary);
  return printPaged(
    { text, json: { session, records: JSON.parse(JSON.stringify(json)) }, notices, isVerbatim: true },
    options,
    app,
  );
}

async function formatCompactions(compactions: readonly Compaction[]): Promise<string> {
  if (compactions.length === 0) return '';
  const text = (await import('../../agent/compacted.ts')).describeCompactions(compactions);
  return text === undefined ? '' : `[${text}]\n`;
}

function formatSavedRecord(record: SavedRecord): string {
  const { kind, content } = record;
  const text = formatContent(content, kind === 'prompt' ? '\n\n' : '');
  if (kind === 'reply' && record.finishReason === undefined) return `${text === '' ? '' : `${text}\n`}${CUT_OFF}\n\n`;
  if (text === '') return '';
  return kind === 'prompt' ? `> ${text.replaceAll('\n', '\n> ')}\n\n` : `${text}\n\n`;
}

const CUT_OFF = '[the answer was cut off here]';

/** `gap` separates two texts: the parts of a prompt are separate texts, those of a reply are one text cut anywhere. */
function formatContent({ parts }: StoredContent, gap: string): string {
  let text = '';
  for (const part of parts) {
    const next = formatSavedPart(part);
    const isFirst = text === '' || next === '';
    if ('text' in part) text += isFirst ? next : `${text.endsWith('\n') ? gap.slice(1) : gap}${next}`;
    else text += isFirst || text.endsWith('\n') ? next : `\n${next}`;
  }
  return text.trimEnd();
}

function formatSavedResult(part: ResponsePart): string {
  const { name } = part.functionResponse;
  const error = findToolError(part);
  return error === undefined ? `[${name} answered]\n` : `[✗ ${name}: ${takeBefore(error.trim(), '\n')}]\n`;
}

function formatSavedPart(part: Part): string {
  if ('text' in part && typeof part.text === 'string') return part.thought ? '' : part.text;
  if ('functionCall' in part) return `[${part.functionCall.name} ${JSON.stringify(part.functionCall.args ?? {})}]\n`;
  if ('functionResponse' in part) return formatSavedResult(part);
  if ('fileData' in part) return `[${describeFile(part)}]\n`;
  return 'inlineData' in part ? `[${part.inlineData.mimeType}]\n` : '';
}

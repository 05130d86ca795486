import type { TurnEvent } from '../core/event.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { ToolResult } from '../core/tool.ts';
import { formatCall } from '../render/tool-line.ts';

export interface ToolLog {
  readonly count: number;
  add(event: TurnEvent): void;
  /** The n-th last call, counted from 1. */
  find(back: number): LoggedCall | undefined;
}

interface LoggedCall {
  /** `read_file a.txt`. Sanitized for the terminal. */
  readonly title: string;
  /** Untrusted text. */
  readonly output: string;
}

/** A result can have a megabyte, and nobody looks up older calls than these. */
const MAX_CALLS = 50;

export function createToolLog(): ToolLog {
  const args = new Map<string, JsonObject>();
  let calls: readonly LoggedCall[] = [];
  return {
    get count() {
      return calls.length;
    },
    add(event) {
      if (event.type === 'call') args.set(event.id, event.args);
      if (event.type !== 'answer') return;
      const title = formatCall(event.name, event.args ?? args.get(event.id) ?? {});
      args.delete(event.id);
      calls = [...calls, { title, output: formatResult(event.outcome) }].slice(-MAX_CALLS);
    },
    find: (back) => calls.at(-back),
  };
}

function formatResult({ response, wholeOutput }: ToolResult): string {
  const { output, untrusted: _, ...rest } = response;
  const text = wholeOutput ?? (output === undefined ? '' : formatJsonLines(output));
  return [text.replace(/\n$/, ''), formatJsonLines(rest)].filter((part) => part !== '').join('\n');
}

function formatJsonLines(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(formatListItem).join('\n');
  if (!isObject(value)) return String(value);
  const fields = Object.entries(value).flatMap(([key, field]) => {
    if (field === undefined) return [];
    const text = formatJsonLines(field);
    return text.includes('\n') || Array.isArray(field) ? `${key}:\n${indent(text)}` : `${key}: ${text}`;
  });
  return fields.join('\n');
}

function formatListItem(value: JsonValue): string {
  if (!isObject(value)) return formatJsonLines(value);
  const fields = Object.values(value);
  return fields.some((field) => typeof field === 'object') ? formatJsonLines(value) : fields.map(String).join('  ');
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

import type { Env } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue, toNonEmptyString, tryParseJson } from '../core/json.ts';
import type { Draft, Preview, ToolResult } from '../core/tool.ts';
import type { Tty } from '../platform/terminal/tty.ts';
import type { ResolvedCall } from './grants.ts';

export interface Proposal {
  readonly resolved: ResolvedCall;
  readonly preview: Preview;
}

/**
 * Previews a call, on top of the draft if one is given, and adds its change to the draft. Gives the tool result instead
 * if the tool refuses the call. Throws what the tool's preview throws.
 */
export async function prepareProposal(
  resolved: ResolvedCall,
  signal: AbortSignal,
  draft?: Draft,
): Promise<Proposal | ToolResult> {
  const { tool, args, secret } = resolved;
  if (secret !== undefined) return { resolved, preview: secretPreview(secret, args) };
  const preview = (await tool.preview?.(args, signal, draft)) ?? { kind: 'text', text: JSON.stringify(args, null, 2) };
  return 'ok' in preview ? preview : { resolved, preview };
}

/** Shows the real path of the file, whatever the model calls it. */
function secretPreview(path: string, args: JsonObject): Preview {
  return {
    kind: 'text',
    text: `${JSON.stringify(args, null, 2)}\n${path}\nThis file may hold keys or passwords, and would be sent to the model.`,
  };
}

export function isSameChange(left: Preview, right: Preview): boolean {
  return JSON.stringify(omitTexts(left)) === JSON.stringify(omitTexts(right));
}

/** The diff says the same, and is short. */
function omitTexts(preview: Preview): Preview {
  return preview.kind === 'diff' ? { ...preview, texts: undefined } : preview;
}

export function formatRefusal({ response }: ToolResult): string {
  return toNonEmptyString(response.error) ?? JSON.stringify(response);
}

/** The argument that opens in the editor, if the tool has it; else all arguments as JSON. */
const EDITABLE = ['command', 'content', 'new_string'] as const;

/** The arguments as the person edited them; undefined if the editor failed or its JSON is no object. */
export async function editArguments(
  { resolved: { tool, args }, preview }: Proposal,
  { tty, env }: { readonly tty: Tty; readonly env: Env },
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const known = isObject(tool.input.properties) ? tool.input.properties : {};
  const key = EDITABLE.find((name) => typeof args[name] === 'string' && Object.hasOwn(known, name));
  if (key === undefined) {
    const text = await tty.edit(JSON.stringify(args, null, 2), 'arguments.json', env, signal);
    return text === undefined ? undefined : tryParseEditedArguments(text);
  }
  const name = preview.kind === 'diff' ? preview.path.replace(/^.*[\\/]/, '') : 'command.sh';
  const text = await tty.edit(String(args[key]), name, env, signal);
  return text === undefined ? undefined : { ...args, [key]: text };
}

function tryParseEditedArguments(text: string): JsonObject | undefined {
  const value = tryParseJson(text) as JsonValue | undefined;
  return isObject(value) ? (value as JsonObject) : undefined;
}

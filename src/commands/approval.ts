import { AppError } from '../core/error.ts';
import type { Env, Out } from '../core/io.ts';
import { isObject, type JsonObject, type JsonValue, parseJson, stringOf } from '../core/json.ts';
import type { Approve, Preview, Tool, ToolCall, ToolOutcome, Verdict } from '../core/tool.ts';
import { visible } from '../core/visible.ts';
import { openTty as openOwnTty, type Tty } from '../platform/tty.ts';
import { type Asked, type Policy, type Scope, unattendedReason } from '../tools/policy.ts';
import { askPerson } from './approval-question.ts';

export interface ApprovalOptions {
  readonly policy: Policy;
  /** Where questions are shown; asked is only if it is a terminal. */
  readonly err: Out;
  /** Whether the output is for a person: nobody is asked in the JSON formats. */
  readonly isTextFormat: boolean;
  /** Names the editor, and is handed to it. */
  readonly env: Env;
  /** The real path of what a call would read, if that likely holds keys or passwords. */
  readonly secretOf: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** Lets that file be read, once; called after the person said yes to this very path. */
  readonly permit: (path: string) => Promise<void>;
  readonly lend: Lend;
  /** The person's terminal, undefined if there is none; that of this process unless given. */
  readonly openTty?: () => Tty | undefined;
}

/** Runs a question to its answer: until then the terminal is the person's, and so is the time. */
export type Lend = <Result>(work: () => Promise<Result>) => Promise<Result>;

const NO = 'The user said no to this call. Do not repeat it; ask what they would like instead, or go on without it.';

/**
 * Decides by the policy, and asks the person where it says so: on /dev/tty, if stderr is a terminal and the format is
 * text. Otherwise such a call is denied at once, with words that tell the model how the user can allow it. Calls that
 * are made at the same time are decided one after the other.
 */
export function approval(options: ApprovalOptions): Approve {
  let last: Promise<unknown> = Promise.resolve();
  return (tool, call, signal) => {
    const verdict = last.then(() => decided(options, tool, call, signal));
    last = verdict;
    return verdict;
  };
}

/** Never throws, as the next in line waits for it. */
async function decided(options: ApprovalOptions, tool: Tool, call: ToolCall, signal: AbortSignal): Promise<Verdict> {
  const { openTty = openOwnTty } = options;
  try {
    const asked = await askedOf(options, tool, call.args);
    const ruling = options.policy.rule(asked);
    if (ruling.kind === 'deny') return ruling;
    if (ruling.kind === 'run') return await allowed(options, asked, call);
    const tty = options.isTextFormat && options.err.isTerminal ? openTty() : undefined;
    if (tty === undefined) return { kind: 'deny', reason: unattendedReason(tool, ruling.scope, options.isTextFormat) };
    return await options.lend(async () => {
      try {
        return await asking({ ...options, tty, scope: ruling.scope }, asked, call, signal);
      } finally {
        tty.close();
      }
    });
  } catch (thrown) {
    return signal.aborted ? { kind: 'stop' } : { kind: 'deny', reason: AppError.from(thrown).message };
  }
}

async function askedOf({ secretOf }: ApprovalOptions, tool: Tool, args: JsonObject): Promise<Asked> {
  return { tool, args, secret: await secretOf(tool, args) };
}

async function allowed({ permit }: ApprovalOptions, { args, secret }: Asked, call: ToolCall): Promise<Verdict> {
  if (secret !== undefined) await permit(secret);
  return args === call.args ? { kind: 'run' } : { kind: 'run-edited', args };
}

interface Asking extends ApprovalOptions {
  readonly tty: Tty;
  readonly scope: Scope;
}

async function asking(options: Asking, first: Asked, call: ToolCall, signal: AbortSignal): Promise<Verdict> {
  const { policy, err, scope } = options;
  const start = await proposed(first, signal);
  if ('ok' in start) return { kind: 'deny', reason: reasonOf(start) };
  let proposal = start;
  for (;;) {
    const { asked, preview } = proposal;
    const answer = await askPerson({ name: asked.tool.name, preview, scope }, options, signal);
    switch (answer.kind) {
      case 'yes':
        return allowed(options, asked, call);
      case 'always':
        policy.remember(asked);
        return allowed(options, asked, call);
      case 'no':
        return { kind: 'deny', reason: NO };
      case 'reply':
        return { kind: 'deny', reason: `The user said no to this call, and tells you: ${answer.text}` };
      case 'stop':
        return { kind: 'stop' };
      case 'edit': {
        const next = await edited(options, proposal, signal);
        if ('ok' in next) await err.write(`│ ${visible(reasonOf(next))}\n`);
        else proposal = next;
      }
    }
  }
}

/** A call, and what the person sees of it. */
interface Proposal {
  readonly asked: Asked;
  readonly preview: Preview;
}

/** The proposal as the person would have it, or why it cannot be that. */
async function edited(
  options: Asking,
  { asked, preview }: Proposal,
  signal: AbortSignal,
): Promise<Proposal | ToolOutcome> {
  const args = await editedArgs(options, asked.args, preview, signal);
  return args === undefined ? EDITOR_FAILED : proposed(await askedOf(options, asked.tool, args), signal);
}

async function proposed(asked: Asked, signal: AbortSignal): Promise<Proposal | ToolOutcome> {
  const { tool, args, secret } = asked;
  if (secret !== undefined) return { asked, preview: secretPreview(secret, args) };
  const preview = (await tool.preview?.(args, signal)) ?? { kind: 'text', text: JSON.stringify(args, null, 2) };
  return 'ok' in preview ? preview : { asked, preview };
}

/** The file that would be read, whatever the model calls it. */
function secretPreview(path: string, args: JsonObject): Preview {
  return {
    kind: 'text',
    text: `${JSON.stringify(args, null, 2)}\n${path}\nThis file may hold keys or passwords, and would be sent to the model.`,
  };
}

const EDITOR_FAILED: ToolOutcome = {
  ok: false,
  response: { error: 'Nothing was changed: the editor failed. VISUAL or EDITOR names the one to use.' },
};

function reasonOf({ response }: ToolOutcome): string {
  return stringOf(response.error) ?? JSON.stringify(response);
}

/** What people edit of a call: the command, the new content, else all arguments. */
const EDITED = ['command', 'content', 'new_string'] as const;

/** Undefined if the editor failed, or what came out of it is no set of arguments. */
async function editedArgs(
  { tty, env }: Asking,
  args: JsonObject,
  preview: Preview,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const key = EDITED.find((name) => typeof args[name] === 'string');
  if (key === undefined) {
    const text = await tty.edit(JSON.stringify(args, null, 2), 'arguments.json', env, signal);
    return text === undefined ? undefined : parseArgs(text);
  }
  const name = preview.kind === 'diff' ? preview.path.replace(/^.*[\\/]/, '') : 'command.sh';
  const text = await tty.edit(String(args[key]), name, env, signal);
  return text === undefined ? undefined : { ...args, [key]: text };
}

function parseArgs(text: string): JsonObject | undefined {
  const value = parseJson(text) as JsonValue | undefined;
  return isObject(value) ? (value as JsonObject) : undefined;
}

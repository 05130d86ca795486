import { AppError } from '../core/error.ts';
import type { Env, Out } from '../core/io.ts';
import type { JsonObject } from '../core/json.ts';
import { visible } from '../core/text/terminal.ts';
import type {
  Approve,
  ApproveContext,
  Draft,
  PendingCall,
  Preview,
  Tool,
  ToolCall,
  ToolOutcome,
  Verdict,
} from '../core/tool.ts';
import { openTty as openOwnTty, type Tty } from '../platform/terminal/tty.ts';
import { formatCall } from '../render/tool-line.ts';
import { type Asked, type Denial, type Policy, type Scope, unattendedDenial } from './policy.ts';
import { editedArgs, isSameChange, type Proposal, proposed, reasonOf } from './proposal.ts';
import { type Answer, askPerson } from './question.ts';

export interface ApprovalOptions {
  readonly policy: Policy;
  /** Where questions are shown. A person is asked only if this is a terminal. */
  readonly err: Out;
  /** False for the JSON formats, in which nobody is asked. */
  readonly isTextFormat: boolean;
  /** Names the editor (VISUAL, EDITOR) and becomes its environment. */
  readonly env: Env;
  /** The real path of the file a call would read, if that file likely holds keys or passwords. */
  readonly secretOf: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** Allows one read of that file; called after the person approved this exact path. */
  readonly permit: (path: string) => Promise<void>;
  /** The real path of the file a call would write. Absent: "always this file" is not offered. */
  readonly targetOf?: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** The real path of the directory a command would run in. Absent: the path is taken as the model spelled it. */
  readonly directoryOf?: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  readonly lend: Lend;
  /** Called with a user-facing notice for each call that is denied without a question. */
  readonly onDenied?: (notice: string) => void;
  /** Opens the person's terminal; undefined if there is none. Default: the terminal of this process. */
  readonly openTty?: () => Tty | undefined;
}

/** Runs a question while the terminal belongs to the person and the clock is paused. */
export type Lend = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The person sees only the first line; the model gets both. */
const NO = 'The user said no to this call.\nDo not repeat it; ask what they would like instead, or go on without it.';

const CHANGED_SINCE = '│ Things have changed since. This is what would be done now:\n';

/**
 * Decides by the policy and asks the person where the policy says so: on /dev/tty, if stderr is a terminal and the
 * format is text. Otherwise such a call is denied at once, with a reason that tells the model how the user can allow
 * it. Concurrent calls are decided one after the other; adjacent writes are asked about as a group, each previewed on
 * top of those before it.
 */
export function approval(options: ApprovalOptions): Approve {
  let last: Promise<unknown> = Promise.resolve();
  const deciding: Deciding = { ...options, shared: new WeakMap() };
  return (tool, call, context) => {
    const verdict = last.then(() => decided(deciding, { tool, call }, context));
    last = verdict;
    return verdict;
  };
}

interface Deciding extends ApprovalOptions {
  /** Answers given to a group of calls. Keyed by the arguments object, because the model chooses the ids. */
  readonly shared: WeakMap<JsonObject, Shared>;
}

type Shared =
  | Verdict
  /** Approved, but only for exactly this change. */
  | { readonly kind: 'shown'; readonly preview: Preview }
  | { readonly kind: 'single' };

/** Never throws: the next call in the queue waits for this one. */
async function decided(options: Deciding, { tool, call }: PendingCall, context: ApproveContext): Promise<Verdict> {
  const { openTty = openOwnTty } = options;
  const { signal } = context;
  try {
    const asked = await askedOf(options, tool, call.args);
    const ruling = options.policy.rule(asked);
    if (ruling.kind === 'deny') return denied(options, call, ruling);
    if (ruling.kind === 'run') return await allowed(options, asked, call);
    const known = await earlier(options, asked, call, signal);
    if (known !== undefined) return known;
    const tty = options.isTextFormat && options.err.isTerminal ? openTty() : undefined;
    if (tty === undefined) return denied(options, call, unattendedDenial(tool, ruling.scope, options.isTextFormat));
    return await options.lend(async () => {
      try {
        return await asking({ ...options, tty, scope: ruling.scope }, asked, call, context);
      } finally {
        tty.close();
      }
    });
  } catch (thrown) {
    if (signal.aborted) return { kind: 'stop' };
    const { message } = AppError.from(thrown);
    return denied(options, call, { reason: message, advice: message });
  }
}

function denied({ onDenied }: ApprovalOptions, { name, args }: ToolCall, { reason, advice }: Denial): Verdict {
  onDenied?.(`${formatCall(name, args)} was not run: ${advice}`);
  return { kind: 'deny', reason };
}

async function askedOf(options: ApprovalOptions, tool: Tool, args: JsonObject): Promise<Asked> {
  const { secretOf, targetOf, directoryOf } = options;
  return {
    tool,
    args,
    secret: await secretOf(tool, args),
    target: await targetOf?.(tool, args),
    directory: await directoryOf?.(tool, args),
  };
}

/** The decision that a group answer means for this call; undefined if the call must be asked about. */
async function earlier(
  options: Deciding,
  asked: Asked,
  call: ToolCall,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  const answer = options.shared.get(call.args);
  if (answer === undefined || answer.kind === 'single') return undefined;
  if (answer.kind !== 'shown') return answer;
  const now = await proposed(asked, signal);
  if ('ok' in now) return { kind: 'deny', reason: reasonOf(now) };
  return isSameChange(now.preview, answer.preview) ? allowed(options, asked, call) : undefined;
}

async function allowed({ permit }: ApprovalOptions, { args, secret }: Asked, call: ToolCall): Promise<Verdict> {
  if (secret !== undefined) await permit(secret);
  return args === call.args ? { kind: 'run' } : { kind: 'run-edited', args };
}

interface Asking extends Deciding {
  readonly tty: Tty;
  readonly scope: Scope;
}

async function asking(options: Asking, first: Asked, call: ToolCall, context: ApproveContext): Promise<Verdict> {
  const { signal } = context;
  const draft: Draft = new Map();
  const start = await proposed(first, signal, draft);
  if ('ok' in start) return { kind: 'deny', reason: reasonOf(start) };
  const answer = options.shared.get(call.args);
  if (answer?.kind === 'shown') await options.err.write(CHANGED_SINCE);
  const others = answer === undefined ? await companions(options, context, draft) : [];
  if (others.length > 0) {
    const verdict = await askedTogether(options, [{ ...start, call }, ...others], signal);
    if (verdict !== undefined) return verdict;
  }
  return askedAlone(options, start, call, signal);
}

async function askedAlone(options: Asking, start: Proposal, call: ToolCall, signal: AbortSignal): Promise<Verdict> {
  const { policy, err, scope } = options;
  let proposal = start;
  for (;;) {
    const { asked, preview } = proposal;
    const hasFile = asked.target !== undefined;
    const answer = await askPerson({ items: [{ name: asked.tool.name, preview }], scope, hasFile }, options, signal);
    switch (answer.kind) {
      case 'yes':
      case 'always':
      case 'file': {
        const now = await proposed(asked, signal);
        if ('ok' in now) return { kind: 'deny', reason: reasonOf(now) };
        if (isSameChange(now.preview, preview)) {
          if (answer.kind !== 'yes') policy.remember(asked, answer.kind === 'file' ? 'file' : 'scope');
          return allowed(options, asked, call);
        }
        await err.write(CHANGED_SINCE);
        proposal = now;
        break;
      }
      case 'edit': {
        const next = await edited(options, proposal, signal);
        if ('ok' in next) await err.write(`│ ${visible(reasonOf(next))}\n`);
        else proposal = next;
        break;
      }
      default:
        return turnedDown(answer);
    }
  }
}

function turnedDown(answer: Exclude<Answer, { kind: 'yes' | 'always' | 'file' | 'edit' }>): Verdict {
  switch (answer.kind) {
    case 'reply':
      return { kind: 'deny', reason: `The user said no to this call, and tells you: ${answer.text}` };
    case 'stop':
      return { kind: 'stop' };
    default:
      return { kind: 'deny', reason: NO };
  }
}

interface Candidate extends Proposal {
  readonly call: ToolCall;
}

/** The calls right after this one that would also be asked about, each previewed on top of those before it. */
async function companions(
  options: Asking,
  { following = [], signal }: ApproveContext,
  draft: Draft,
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for (const { tool, call } of following) {
    const asked = await askedOf(options, tool, call.args);
    const { kind } = options.policy.rule(asked);
    // A call that runs without a question is previewed too: later previews build on its changes.
    const proposal = await proposed(asked, signal, draft);
    // A call refused now may be possible after the earlier ones have run; it is decided in its turn.
    if (kind === 'ask' && !('ok' in proposal)) found.push({ ...proposal, call });
  }
  return found;
}

/** One answer for the whole group; undefined if the person wants to see the calls one by one. */
async function askedTogether(
  options: Asking,
  candidates: readonly [Candidate, ...Candidate[]],
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  const { policy, shared, scope } = options;
  const items = candidates.map(({ asked, preview }) => ({ name: asked.tool.name, preview }));
  const answer = await askPerson({ items, scope, hasFile: false }, options, signal);
  const [first] = candidates;
  for (const { call, preview } of candidates) {
    if (answer.kind === 'yes' || answer.kind === 'always') shared.set(call.args, { kind: 'shown', preview });
    else shared.set(call.args, answer.kind === 'single' ? { kind: 'single' } : turnedDown(answer));
  }
  if (answer.kind === 'always') for (const { asked } of candidates) policy.remember(asked, 'scope');
  return answer.kind === 'single' ? undefined : earlier(options, first.asked, first.call, signal);
}

async function edited(options: Asking, proposal: Proposal, signal: AbortSignal): Promise<Proposal | ToolOutcome> {
  const args = await editedArgs(proposal, options, signal);
  return args === undefined ? EDITOR_FAILED : proposed(await askedOf(options, proposal.asked.tool, args), signal);
}

const EDITOR_FAILED: ToolOutcome = {
  ok: false,
  response: { error: 'Nothing was changed: the editor failed. VISUAL or EDITOR names the one to use.' },
};

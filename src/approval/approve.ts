import { createSerial } from '../core/async.ts';
import { AppError } from '../core/error.ts';
import type { JsonObject } from '../core/json.ts';
import { formatPermission, type Permission } from '../core/permission.ts';
import { sanitize } from '../core/text/terminal.ts';
import type {
  Approve,
  ApproveContext,
  CallDecision,
  CommandCall,
  Draft,
  PendingCall,
  Preview,
  Tool,
  ToolCall,
  ToolResult,
} from '../core/tool.ts';
import { formatCall, formatToolFailure } from '../render/tool-line.ts';
import type { Offer, ResolvedCall, Scope } from './grants.ts';
import type { Answer, QuestionItem } from './keys.ts';
import type { Person, WithPerson } from './person.ts';
import type { Denial, Policy } from './policy.ts';
import { formatRefusal, isSameChange, type Proposal, prepareProposal } from './proposal.ts';

export interface ApprovalOptions {
  readonly policy: Policy;
  readonly withPerson: WithPerson;
  readonly explainDenial: (call: ResolvedCall, scope: Scope) => Promise<Denial>;
  /** The real path of the file a call would read, if that file likely holds keys or passwords. */
  readonly findSecret: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** Allows one read of that file; called after the person approved this exact path. */
  readonly permit: (path: string) => Promise<void>;
  /** The real path of the file a call would write. Absent: "always this file" is not offered. */
  readonly findTarget?: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** Whether a person must be asked about each change of this file, in every mode. */
  readonly isGuarded?: (target: string) => Promise<boolean>;
  /** Allows one change of that file; called after the person approved it. */
  readonly permitChange?: (target: string) => void;
  /** What a command would destroy beyond the workspace. Absent: commands are confined. */
  readonly findHarm?: (command: CommandCall, directory: string | undefined) => string | undefined;
  /** The real path of the directory a command would run in. Absent: the path is taken as the model spelled it. */
  readonly findDirectory?: (tool: Tool, args: JsonObject) => Promise<string | undefined>;
  /** The programs that a command would run in that directory. Absent: permissions for first words cover nothing. */
  readonly findParts?: (tool: Tool, args: JsonObject, directory: string) => Promise<ResolvedCall['parts']>;
  readonly onDenied?: (notice: string) => void;
  /** Keeps a permission for later runs. Absent: that is not offered. Throws AppError. */
  readonly keep?: (permission: Permission) => Promise<void>;
  /** Whether changes that nobody was asked about are to be shown. */
  readonly showsChanges?: boolean;
}

/** The person sees only the first line; the model gets both. */
const DENIED_BY_USER =
  'The user said no to this call.\nDo not repeat it; ask what they would like instead, or continue without it.';

const CHANGED_SINCE = 'Something has changed since then. This is what would be done now:';

/**
 * Decides by the policy and asks the person where the policy says so. Without one such a call is denied at once, with a
 * reason that tells the model how the user can allow it. Concurrent calls are decided one after the other; adjacent writes are asked about as a group, each previewed on
 * top of those before it; those of guarded files one by one.
 */
export function createApprover(options: ApprovalOptions): Approve {
  const inOrder = createSerial();
  const decideOptions: DecideOptions = { ...options, shared: new WeakMap() };
  return (tool, call, context) => inOrder(() => decideCall(decideOptions, { tool, call }, context));
}

interface DecideOptions extends ApprovalOptions {
  /** Answers given to a group of calls. Keyed by the arguments object, because the model chooses the ids. */
  readonly shared: WeakMap<JsonObject, GroupAnswer>;
}

type GroupAnswer =
  | CallDecision
  /** Approved, but only for exactly this change. */
  | { readonly kind: 'shown'; readonly preview: Preview }
  | { readonly kind: 'single' };

/** Never throws: the next call in the queue waits for this one. */
async function decideCall(
  options: DecideOptions,
  { tool, call }: PendingCall,
  context: ApproveContext,
): Promise<CallDecision> {
  const { signal } = context;
  try {
    const resolved = await resolveCall(options, { tool, args: call.args }, context);
    const decision = options.policy.rule(resolved);
    if (decision.kind === 'deny') return denyCall(options, call, decision);
    if (context.mustAsk && decision.kind === 'run') return await askForHook(options, resolved, call, context);
    if (decision.kind === 'run') {
      context.onUnasked?.();
      return await allowUnasked(options, resolved, call, signal);
    }
    const known = await findGroupDecision(options, resolved, call, signal);
    if (known !== undefined) return known;
    const asked = await options.withPerson((person) =>
      askAboutCall({ ...options, person, offer: decision }, resolved, call, context),
    );
    return asked ?? denyCall(options, call, decision.denial ?? (await options.explainDenial(resolved, decision.scope)));
  } catch (thrown) {
    if (signal.aborted) return { kind: 'stop' };
    const { message } = AppError.from(thrown);
    return denyCall(options, call, { reason: message, advice: message });
  }
}

const NOBODY_FOR_HOOK = 'a hook wants the user to be asked, and there is nobody to ask';

/** About a call that would run without a question; only this one is asked about. */
async function askForHook(
  options: DecideOptions,
  resolved: ResolvedCall,
  call: ToolCall,
  context: ApproveContext,
): Promise<CallDecision> {
  const offer: Offer = { scope: 'once' };
  const asked = await options.withPerson((person) =>
    askAboutCall({ ...options, person, offer }, resolved, call, context),
  );
  return (
    asked ??
    denyCall(options, call, { reason: `${call.name} was not run: ${NOBODY_FOR_HOOK}.`, advice: NOBODY_FOR_HOOK })
  );
}

function denyCall(options: ApprovalOptions, { name, args }: ToolCall, { reason, advice }: Denial): CallDecision {
  return reportDenial(options, `${formatCall(name, args)} was not run: ${advice}`, reason);
}

/** Denies a call that its tool refuses to preview; nobody was asked about it, so it is reported. */
function refuseCall(options: ApprovalOptions, { name, args }: ToolCall, refusal: ToolResult): CallDecision {
  return reportDenial(options, formatToolFailure(name, args, refusal), formatRefusal(refusal));
}

function reportDenial({ onDenied }: ApprovalOptions, notice: string, reason: string): CallDecision {
  onDenied?.(notice);
  return { kind: 'deny', reason, isReported: onDenied === undefined ? undefined : true };
}

async function resolveCall(
  options: ApprovalOptions,
  { tool, args }: Pick<ResolvedCall, 'tool' | 'args'>,
  { agent }: Pick<ApproveContext, 'agent'>,
): Promise<ResolvedCall> {
  const { findSecret, findTarget, isGuarded, findDirectory, findParts, findHarm } = options;
  const target = await findTarget?.(tool, args);
  const directory = await findDirectory?.(tool, args);
  const command = findHarm && tool.findCommand?.(args);
  return {
    tool,
    args,
    secret: await findSecret(tool, args),
    target,
    isGuarded: target !== undefined && (await isGuarded?.(target)),
    directory,
    parts: directory === undefined ? undefined : await findParts?.(tool, args, directory),
    harm: command && findHarm?.(command, directory),
    agent,
  };
}

async function findGroupDecision(
  options: DecideOptions,
  resolved: ResolvedCall,
  call: ToolCall,
  signal: AbortSignal,
): Promise<CallDecision | undefined> {
  const answer = options.shared.get(call.args);
  if (answer === undefined || answer.kind === 'single') return undefined;
  if (answer.kind !== 'shown') return answer;
  const now = await prepareProposal(resolved, signal);
  if ('ok' in now) return refuseCall(options, call, now);
  return isSameChange(now.preview, answer.preview) ? allowCall(options, resolved, call) : undefined;
}

async function allowCall(
  { permit, permitChange }: ApprovalOptions,
  { args, secret, isGuarded, target }: ResolvedCall,
  call: ToolCall,
): Promise<CallDecision> {
  if (secret !== undefined) await permit(secret);
  if (isGuarded && target !== undefined) permitChange?.(target);
  return args === call.args ? { kind: 'run' } : { kind: 'run-edited', args };
}

/** With the diff of a change that was not shown. What cannot be previewed fails in the tool itself, with the reason. */
async function allowUnasked(
  options: DecideOptions,
  resolved: ResolvedCall,
  call: ToolCall,
  signal: AbortSignal,
): Promise<CallDecision> {
  const decision = await allowCall(options, resolved, call);
  if (!options.showsChanges || resolved.tool.effect !== 'write') return decision;
  const proposal = await prepareProposal(resolved, signal);
  if ('ok' in proposal || proposal.preview.kind !== 'diff') return decision;
  const answer = options.shared.get(call.args);
  const isKnown = answer?.kind === 'shown' && isSameChange(answer.preview, proposal.preview);
  return isKnown ? decision : { kind: 'run', diff: proposal.preview.diff };
}

interface AskOptions extends DecideOptions {
  readonly person: Person;
  readonly offer: Offer;
}

async function askAboutCall(
  options: AskOptions,
  first: ResolvedCall,
  call: ToolCall,
  context: ApproveContext,
): Promise<CallDecision> {
  const { signal } = context;
  const draft: Draft = new Map();
  const start = await prepareProposal(first, signal, draft);
  if ('ok' in start) return refuseCall(options, call, start);
  const answer = options.shared.get(call.args);
  if (answer?.kind === 'shown') await options.person.say(CHANGED_SINCE);
  const others = answer === undefined && !first.isGuarded ? await findGroup(options, context, draft) : [];
  if (others.length > 0) {
    const decision = await askForGroup(options, [{ ...start, call }, ...others], signal);
    if (decision !== undefined) return decision;
  }
  return askForOne(options, start, call, signal);
}

async function askForOne(
  options: AskOptions,
  start: Proposal,
  call: ToolCall,
  signal: AbortSignal,
): Promise<CallDecision> {
  const { person, keep, policy } = options;
  let proposal = start;
  for (;;) {
    const { resolved, preview } = proposal;
    const hasFile = resolved.target !== undefined;
    const items = [toQuestionItem(proposal, call)];
    const decision = policy.rule(resolved);
    // An edited call may be one of which the policy would offer something else, or nothing.
    const offer = decision.kind === 'ask' ? decision : { scope: options.offer.scope };
    const denial = decision.kind === 'deny' ? decision : findWordDenial(decision, person);
    if (denial !== undefined) return denyCall(options, call, denial);
    const question = { items, offer, hasFile, canKeep: keep !== undefined };
    const answer = await person.ask(question, signal);
    switch (answer.kind) {
      case 'yes':
      case 'grant': {
        const now = await prepareProposal(resolved, signal);
        if ('ok' in now) return refuseCall(options, call, now);
        if (isSameChange(now.preview, preview)) {
          if (answer.kind === 'grant' && offer.scope !== 'once') await grantCall(options, resolved, answer);
          return allowCall(options, resolved, call);
        }
        await person.say(CHANGED_SINCE);
        proposal = now;
        break;
      }
      case 'edit': {
        const next = await editProposal(options, proposal, signal);
        if ('ok' in next) await person.say(sanitize(formatRefusal(next)));
        else proposal = next;
        break;
      }
      default:
        return toDenial(answer);
    }
  }
}

function findWordDenial(decision: ReturnType<Policy['rule']>, { takesWords }: Person): Denial | undefined {
  return decision.kind === 'ask' && decision.harm !== undefined && !takesWords ? decision.denial : undefined;
}

function toQuestionItem({ resolved, preview }: Proposal, { id }: ToolCall): QuestionItem {
  const { tool, args, secret, isGuarded, target } = resolved;
  const { name } = tool;
  return { name, preview, call: { id, name, args, guarded: secret ?? (isGuarded ? target : undefined) } };
}

/** A permission that cannot be kept holds for this run, and the person is told why. */
async function grantCall(
  { policy, keep, person }: AskOptions,
  resolved: ResolvedCall,
  { reach, isKept }: Extract<Answer, { kind: 'grant' }>,
): Promise<void> {
  const grant = policy.remember(resolved, reach);
  if (!isKept || keep === undefined || grant === undefined || grant.kind === 'file' || grant.kind === 'secret') return;
  try {
    await keep(grant);
    await person.say(`Kept for this project: ${formatPermission(grant)}`);
  } catch (thrown) {
    const { message, hint } = AppError.from(thrown);
    await person.say(sanitize(`Only for this run: ${message}. ${hint ?? ''}`.trimEnd()));
  }
}

function toDenial(answer: Exclude<Answer, { kind: 'yes' | 'grant' | 'edit' }>): CallDecision {
  switch (answer.kind) {
    case 'reply':
      return { kind: 'deny', reason: `The user said no to this call, and wrote: ${answer.text}` };
    case 'stop':
      return { kind: 'stop' };
    default:
      return { kind: 'deny', reason: DENIED_BY_USER };
  }
}

interface Candidate extends Proposal {
  readonly call: ToolCall;
}

async function findGroup(options: AskOptions, context: ApproveContext, draft: Draft): Promise<readonly Candidate[]> {
  const { following = [], signal } = context;
  const found: Candidate[] = [];
  for (const { tool, call } of following) {
    const resolved = await resolveCall(options, { tool, args: call.args }, context);
    const { kind } = options.policy.rule(resolved);
    // A call that runs without a question is previewed too: later previews build on its changes.
    const proposal = await prepareProposal(resolved, signal, draft);
    // A call refused now may be possible after the earlier ones have run; it is decided in its turn.
    if (kind === 'ask' && !resolved.isGuarded && !('ok' in proposal)) found.push({ ...proposal, call });
  }
  return found;
}

async function askForGroup(
  options: AskOptions,
  candidates: readonly [Candidate, ...Candidate[]],
  signal: AbortSignal,
): Promise<CallDecision | undefined> {
  const { shared, offer, person, keep } = options;
  const items = candidates.map((candidate) => toQuestionItem(candidate, candidate.call));
  const answer = await person.ask({ items, offer, hasFile: false, canKeep: keep !== undefined }, signal);
  const [first] = candidates;
  for (const { call, preview } of candidates) {
    if (answer.kind === 'yes' || answer.kind === 'grant') shared.set(call.args, { kind: 'shown', preview });
    else shared.set(call.args, answer.kind === 'single' ? { kind: 'single' } : toDenial(answer));
  }
  if (answer.kind === 'grant') await grantCall(options, first.resolved, answer);
  return answer.kind === 'single' ? undefined : findGroupDecision(options, first.resolved, first.call, signal);
}

async function editProposal(
  options: AskOptions,
  proposal: Proposal,
  signal: AbortSignal,
): Promise<Proposal | ToolResult> {
  const { tool, agent } = proposal.resolved;
  const args = await options.person.edit(proposal, signal);
  return args === undefined
    ? EDITOR_FAILED
    : prepareProposal(await resolveCall(options, { tool, args }, { agent }), signal);
}

const EDITOR_FAILED: ToolResult = {
  ok: false,
  response: { error: 'Nothing was changed: the editor failed. VISUAL or EDITOR names the one to use.' },
};

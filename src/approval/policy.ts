import { sanitize } from '../core/text/terminal.ts';
import type { Effect, Tool } from '../core/tool.ts';
import {
  type CommandLimits,
  checkLimits,
  createGrant,
  findPrefix,
  type Grant,
  isGranted,
  type Offer,
  type Reach,
  type ResolvedCall,
  type Scope,
  toScope,
} from './grants.ts';
import type { OfficialRules, Ruling } from './official-rules.ts';

export type ApprovalMode = 'default' | 'auto_edit' | 'plan' | 'yolo';

type PolicyDecision =
  | { readonly kind: 'run' }
  /** `denial`: why it is denied where nobody can be asked; absent: the host says why. */
  | ({ readonly kind: 'ask'; readonly denial?: Denial } & Offer)
  | ({ readonly kind: 'deny' } & Denial);

export interface Denial {
  /** For the model. */
  readonly reason: string;
  /** For the user: why, and how to allow it. */
  readonly advice: string;
}

export interface PolicyOptions {
  readonly mode: ApprovalMode;
  /** Of the command line, the settings, and what was kept for the project. */
  readonly allowed: readonly Grant[];
  /** The user's own `trust: true`, or a pattern of theirs for its server; one set by the workspace does not count. */
  readonly isTrusted: (tool: Tool) => boolean;
  readonly limits?: CommandLimits;
  /** Policies of the official CLI. Absent: there are none. */
  readonly rules?: OfficialRules;
  /** Commands are: what lets edits run lets them run, too. */
  readonly isConfined?: boolean;
  /** Answers remembered across a change of mode; none unless given. */
  readonly remembered?: Grant[];
  /** Shared with the policies of a run before and after this one: the mode of the latest holds for all of them. */
  readonly inForce?: ModeInForce;
  /** Is called when the person allows all edits. */
  readonly onMode?: (mode: ApprovalMode) => void;
}

export interface ModeInForce {
  mode?: ApprovalMode;
}

export interface Policy {
  /** Depends only on the options and on what was remembered. */
  rule(call: ResolvedCall): PolicyDecision;
  /** Gives what it remembers; undefined if the call has nothing of that reach. */
  remember(call: ResolvedCall, reach: Reach): Grant | undefined;
}

type Decision = 'run' | 'ask' | 'deny';

const DECISIONS: Readonly<Record<ApprovalMode, Readonly<Record<Effect, Decision>>>> = {
  default: { read: 'run', write: 'ask', execute: 'ask', network: 'ask' },
  auto_edit: { read: 'run', write: 'run', execute: 'ask', network: 'ask' },
  plan: { read: 'run', write: 'deny', execute: 'deny', network: 'deny' },
  yolo: { read: 'run', write: 'run', execute: 'run', network: 'run' },
};

export function selectOfferedTools(tools: readonly Tool[], mode: ApprovalMode): readonly Tool[] {
  return tools.filter(({ effect }) => DECISIONS[mode][effect] !== 'deny');
}

/**
 * Decides which calls run, ask, or are denied. Sensitive and guarded files ask in every mode, whatever is allowed or trusted. No
 * mode and no list lifts the workspace fence: the fence is not a matter of approval.
 */
export function approvalPolicy(options: PolicyOptions): Policy {
  const { allowed, isTrusted, rules, limits = { exclude: [] }, isConfined = false, remembered = [] } = options;
  const { inForce = {}, onMode } = options;
  const current = Object.assign(inForce, { mode: options.mode });
  return {
    rule(call) {
      const { tool } = call;
      const isEdit = isConfined && current.mode === 'auto_edit' && tool.findCommand !== undefined;
      const decision = isEdit ? 'run' : DECISIONS[current.mode][tool.effect];
      if (decision === 'deny') return { kind: 'deny', ...planDenial(tool) };
      const limit = checkLimits(limits, call);
      if (limit === 'core' || limit === 'exclude') return { kind: 'deny', ...limitDenial(tool, `tools.${limit}`) };
      const ruling = rules?.check(call, current.mode);
      const denial = ruling && rulingDenial(tool, ruling);
      if (ruling?.kind === 'deny' && denial !== undefined) return { kind: 'deny', ...denial };
      const { harm } = call;
      if (harm !== undefined) {
        const refused = harmDenial(tool, harm);
        if (current.mode === 'yolo') return { kind: 'deny', ...refused };
        return { kind: 'ask', scope: 'once', harm, denial: refused };
      }
      if (ruling?.kind === 'ask') return { kind: 'ask', scope: 'once', denial };
      const isUnclear = limit === 'unclear' || ruling !== undefined;
      const granted = [...allowed, ...remembered];
      // The very command was seen by a person; all other permissions may not have meant what is excluded.
      const counted = isUnclear ? granted.filter(({ kind }) => kind === 'command') : granted;
      if (isGranted(counted, call)) return { kind: 'run' };
      const scope = toScope(call);
      const asks = scope === 'call' || scope === 'once' || isUnclear;
      if (!asks && (decision === 'run' || tool.isNeverAsked || isTrusted(tool))) return { kind: 'run' };
      return { kind: 'ask', scope, words: findPrefix(call), server: tool.remote?.server, denial };
    },
    remember(call, reach) {
      if (call.harm !== undefined || rules?.check(call, current.mode)?.kind === 'ask') return undefined;
      const grant = createGrant(call, reach);
      // No other mode asks about edits, and an answer lifts none.
      if (grant?.kind === 'edits' && current.mode === 'default') {
        current.mode = 'auto_edit';
        onMode?.(current.mode);
      } else if (grant !== undefined && grant.kind !== 'edits') remembered.push(grant);
      return grant;
    },
  };
}

export function nonInteractiveDenial(tool: Tool, scope: Scope, isTextFormat: boolean): Denial {
  const why = isTextFormat ? 'there is no terminal to ask on' : 'nobody is asked in this output format';
  const opening = `${tool.name} was not run: it needs the user's approval, and ${why}.`;
  if (scope === 'call' || scope === 'once') {
    const isSecret = scope === 'call';
    const what = isSecret
      ? 'The file may hold keys or passwords'
      : 'The file instructs models or is run by other programs, so each change of it is asked about';
    const ways = `${isSecret ? 'attach it with -f, or ' : ''}run gmn ${isTextFormat ? 'in a terminal' : 'with -o text in a terminal'}`;
    return { reason: `${opening} ${what}; the user can ${ways}.`, advice: `${why}. ${what}: ${ways}` };
  }
  const flags = `--allowed-tools ${tool.name}${tool.effect === 'write' ? ' or --approval-mode auto_edit' : ''}`;
  return { reason: `${opening} The user can allow it with ${flags}.`, advice: `${why}. Allow it with ${flags}` };
}

/** For the user, about what is refused because of what it would destroy. */
const HARM_HINT =
  'Run it yourself; or in a chat in a terminal, without --yolo, where you type run to allow it; or confined: --sandbox';

function harmDenial({ name }: Tool, harm: string): Denial {
  const why = `it would destroy more than the workspace (${harm})`;
  return {
    reason: `${name} was not run: ${why}, and the user has not typed run at a question about it. Do not try it another way: name only what is inside of the workspace, or tell the user what you would run.`,
    advice: `${why}. ${HARM_HINT}`,
  };
}

const RULINGS: Readonly<Record<Ruling['kind'], string>> = {
  deny: 'denies it',
  ask: 'wants the user to be asked',
  unclear: 'may deny it: gmn cannot tell all that it does',
};

function rulingDenial({ name }: Tool, ruling: Ruling): Denial {
  const { kind } = ruling;
  const why =
    'broken' in ruling
      ? `the policy ${sanitize(ruling.broken.file)} may deny it, but cannot be read (${sanitize(ruling.broken.why)})`
      : `the policy ${sanitize(ruling.rule.file)}, rule ${ruling.rule.number}, ${RULINGS[kind]}`;
  const text = 'rule' in ruling ? ruling.rule.message : undefined;
  const message = text === undefined ? '' : ` It says: ${sanitize(text)}.`;
  return {
    reason: `${name} was not run: ${why}.${message} Do not try it another way; tell the user what you would do.`,
    advice: `${why}.${message} To see the policies: gmn permissions list`,
  };
}

function planDenial({ name, effect, isNeverAsked }: Tool): Denial {
  const why = 'in plan mode only tools that read may be used';
  const allowed = isNeverAsked ? '' : ` --allowed-tools ${name}`;
  const flags = effect === 'write' ? '--approval-mode auto_edit' : `--approval-mode default${allowed}`;
  return {
    reason: `${name} was not run: ${why}. Tell the user what you would do.`,
    advice: `${why}. Allow it with ${flags}`,
  };
}

function limitDenial({ name }: Tool, key: string): Denial {
  const why = `${key} in the settings excludes this command`;
  return {
    reason: `${name} was not run: ${why}. Tell the user what you would run.`,
    advice: `${why}. Where: gmn config explain ${key}`,
  };
}

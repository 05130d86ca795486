import { canonicalJson, type JsonObject } from '../core/json.ts';
import type { Effect, Tool } from '../core/tool.ts';

export type ApprovalMode = 'default' | 'auto_edit' | 'plan' | 'yolo';

type PolicyDecision =
  | { readonly kind: 'run' }
  | { readonly kind: 'ask'; readonly scope: Scope }
  | ({ readonly kind: 'deny' } & Denial);

export interface Denial {
  /** For the model. */
  readonly reason: string;
  /** For the user: why, and how to allow it. */
  readonly advice: string;
}

/** `tool`: every call of this tool; `command`: this very command in this directory; `call`: this very file. */
export type Scope = 'tool' | 'command' | 'call';

export interface PolicyOptions {
  readonly mode: ApprovalMode;
  /** `--allowed-tools`: names, or `server__*` for all tools of a server. */
  readonly allowedTools: readonly string[];
  /** The user's own `trust: true`; one set by the workspace does not count. */
  readonly isTrusted: (tool: Tool) => boolean;
  /** Approvals remembered across a change of mode; empty unless given. */
  readonly remembered?: Set<string>;
}

export interface ResolvedCall {
  readonly tool: Tool;
  readonly args: JsonObject;
  /** The real path of the file it would read, if that file likely holds keys or passwords. */
  readonly secret?: string;
  /** The real path of the file it would write, if it writes one. */
  readonly target?: string;
  /** The real path of the directory it would run in, if it runs a command in one. */
  readonly directory?: string;
}

export type Reach = 'scope' | 'file';

export interface Policy {
  /** Depends only on the options and on what was remembered. */
  rule(call: ResolvedCall): PolicyDecision;
  remember(call: ResolvedCall, reach: Reach): void;
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
 * Decides which calls run, ask, or are denied. Sensitive files ask in every mode, whatever is allowed or trusted. No
 * mode and no list lifts the workspace fence: the fence is not a matter of approval.
 */
export function approvalPolicy({ mode, allowedTools, isTrusted, remembered = new Set() }: PolicyOptions): Policy {
  const isAllowed = (tool: Tool): boolean =>
    tool.isNeverAsked || allowedTools.some((pattern) => matchesPattern(pattern, tool.name)) || isTrusted(tool);
  return {
    rule(call) {
      const decision = DECISIONS[mode][call.tool.effect];
      if (decision === 'deny') return { kind: 'deny', ...planDenial(call.tool) };
      if (REACHES.some((reach) => remembered.has(toApprovalKey(call, reach)))) return { kind: 'run' };
      const scope = toScope(call);
      if (scope === 'call') return { kind: 'ask', scope };
      return decision === 'run' || isAllowed(call.tool) ? { kind: 'run' } : { kind: 'ask', scope };
    },
    remember: (call, reach) => void remembered.add(toApprovalKey(call, reach)),
  };
}

export function nonInteractiveDenial(tool: Tool, scope: Scope, isTextFormat: boolean): Denial {
  const why = isTextFormat ? 'there is no terminal to ask on' : 'nobody is asked in this output format';
  const opening = `${tool.name} was not run: it needs the user's approval, and ${why}.`;
  if (scope === 'call') {
    const what = 'The file may hold keys or passwords';
    const ways = `attach it with -f, or run gmn ${isTextFormat ? 'in a terminal' : 'with -o text in a terminal'}`;
    return { reason: `${opening} ${what}; the user can ${ways}.`, advice: `${why}. ${what}: ${ways}` };
  }
  const flags = `--allowed-tools ${tool.name}${tool.effect === 'write' ? ' or --approval-mode auto_edit' : ''}`;
  return { reason: `${opening} The user can allow it with ${flags}.`, advice: `${why}. Allow it with ${flags}` };
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

/** `server__*` covers the tools of one server; any other star is literal. */
function matchesPattern(pattern: string, name: string): boolean {
  return pattern.endsWith('__*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

function toScope({ tool, args, secret }: ResolvedCall): Scope {
  if (secret !== undefined) return 'call';
  return tool.effect === 'execute' && typeof args.command === 'string' ? 'command' : 'tool';
}

const REACHES: readonly Reach[] = ['scope', 'file'];

function toApprovalKey(call: ResolvedCall, reach: Reach): string {
  const { tool, args, secret, target, directory } = call;
  // For a call that writes no file this key is never remembered, so it never matches.
  if (reach === 'file') return canonicalJson([reach, target ?? null]);
  const scope = toScope(call);
  if (scope === 'tool') return canonicalJson([scope, tool.name]);
  // By real path: the spelled name may lead elsewhere by the next call.
  if (secret !== undefined) return canonicalJson([scope, tool.name, secret]);
  // Built-in tools know which arguments are only descriptions for the user; for a remote tool every argument counts.
  const { dir_path: spelled = null, ...exact } = tool.plain?.(args) ?? args;
  return canonicalJson([scope, tool.name, exact, directory ?? spelled]);
}

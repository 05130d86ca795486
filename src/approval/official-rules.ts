import { canonicalJson, type JsonObject } from '../core/json.ts';
import type { PolicyFiles, PolicyRule } from '../core/policy-rule.ts';
import { beginsWith, parseShellLine } from '../core/text/command-line.ts';
import { compilePattern } from '../core/text/pattern.ts';
import type { Tool } from '../core/tool.ts';
import type { ResolvedPart } from './command-parts.ts';
import { matchPart, type ResolvedCall } from './grants.ts';

export interface RulesContext {
  /** Whether somebody can be asked. */
  readonly isInteractive: boolean;
  /** The tool of gmn with a name of the official CLI; undefined if there is none. */
  readonly findToolName: (name: string) => string | undefined;
}

/** `unclear`: a rule denies or asks that may be about this call. */
export type Ruling =
  | { readonly kind: 'deny' | 'ask' | 'unclear'; readonly rule: PolicyRule }
  /** A file that could not be read may have denied it. */
  | { readonly kind: 'unclear'; readonly broken: PolicyFiles['broken'][number] };

export interface OfficialRules {
  check(call: ResolvedCall, mode: string): Ruling | undefined;
  /** The rule that denies every call of this tool. */
  findHiding(tool: Tool, mode: string): PolicyRule | undefined;
}

type Match = 'yes' | 'no' | 'unclear';
type Unit = (rule: PolicyRule) => Match;

/**
 * Decides by the policies of the official CLI: of the rules that match a call the highest counts, for a command line the strictest
 * of its parts. A rule that allows grants nothing: it only ends the search, so that lower ones do not count. What is not
 * understood of a command matches no rule that allows.
 */
export function createOfficialRules({ rules, broken }: PolicyFiles, context: RulesContext): OfficialRules {
  const listFor = (tool: Tool, mode: string): readonly PolicyRule[] =>
    rules.filter(
      ({ modes, interactive = context.isInteractive, ...rule }) =>
        (modes?.includes(mode) ?? true) && interactive === context.isInteractive && isAbout(rule, tool, context),
    );
  return {
    check(call, mode) {
      const found = listFor(call.tool, mode).filter(({ subagent = call.agent }) => subagent === call.agent);
      const rulings = listUnits(call).flatMap((unit) => decideUnit(found, unit) ?? []);
      const strictest = (['deny', 'ask', 'unclear'] as const).flatMap((kind) =>
        rulings.filter((ruling) => ruling.kind === kind),
      )[0];
      const [fault] = broken;
      // Nobody knows what it was to deny.
      const mayBeDenied = fault !== undefined && call.tool.effect !== 'read' && !call.tool.isNeverAsked;
      return strictest ?? (mayBeDenied ? { kind: 'unclear', broken: fault } : undefined);
    },
    findHiding(tool, mode) {
      const plain = listFor(tool, mode).find((rule) => rule.subagent === undefined && !hasCondition(rule));
      return plain?.decision === 'deny' ? plain : undefined;
    },
  };
}

function hasCondition({ argsPattern, commandPrefixes, commandRegex }: PolicyRule): boolean {
  return (argsPattern ?? commandPrefixes ?? commandRegex) !== undefined;
}

function isAbout(
  { toolNames, mcpName, toolAnnotations = {} }: Pick<PolicyRule, 'toolNames' | 'mcpName' | 'toolAnnotations'>,
  { name, remote, isAgent, annotations = {} }: Tool,
  { findToolName }: RulesContext,
): boolean {
  if (mcpName !== undefined && (remote === undefined || (mcpName !== '*' && mcpName !== remote.server))) return false;
  if (Object.entries(toolAnnotations).some(([key, value]) => annotations[key] !== value)) return false;
  const names = [name];
  if (remote !== undefined) names.push(`mcp_${remote.server}_${remote.tool}`, `${remote.server}__${remote.tool}`);
  if (remote !== undefined && mcpName !== undefined) names.push(remote.tool);
  if (isAgent) names.push('invoke_agent');
  return toolNames.some((written) => {
    const own = remote === undefined ? (findToolName(written) ?? written) : written;
    return names.some((each) => isLike(each, own));
  });
}

/** `*` stands for anything. */
function isLike(name: string, pattern: string): boolean {
  const first = pattern.replace(/\*[\s\S]*$/, '');
  const last = pattern.replace(/^[\s\S]*\*/, '');
  if (first === pattern) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  return pattern
    .split('*')
    .slice(1, -1)
    .every((piece) => {
      const found = name.indexOf(piece, at);
      at = found + piece.length;
      return found >= 0 && at <= name.length - last.length;
    });
}

function decideUnit(rules: readonly PolicyRule[], unit: Unit): Ruling | undefined {
  let doubt: Ruling | undefined;
  for (const rule of rules) {
    const match = hasCondition(rule) ? unit(rule) : 'yes';
    if (match === 'yes' && rule.decision === 'allow') return doubt;
    if (match === 'yes') return { kind: rule.decision === 'deny' ? 'deny' : 'ask', rule };
    if (match === 'unclear' && rule.decision !== 'allow') doubt ??= { kind: 'unclear', rule };
  }
  return doubt;
}

/** A call as a whole, and each program of its command line. */
function listUnits({ tool, args, target, parts }: ResolvedCall): readonly Unit[] {
  const command = tool.findCommand?.(args)?.command;
  const plain = tool.plain?.(args) ?? args;
  // By every name of the arguments and of the file.
  const texts = [args, plain, ...(target === undefined ? [] : [{ ...plain, file_path: target }])].map(canonicalJson);
  const whole: Unit = (rule) => {
    const match = matchTexts(rule, texts, command);
    if (command === undefined || parts !== undefined) return match;
    // A line that is not understood may hold what is denied, and more than what is allowed.
    return rule.decision === 'allow' ? 'no' : match === 'no' ? 'unclear' : match;
  };
  return [
    whole,
    ...(parts ?? []).map(
      (part): Unit =>
        (rule) =>
          matchProgram(rule, part, plain),
    ),
  ];
}

function matchProgram(rule: PolicyRule, part: ResolvedPart, args: JsonObject): Match {
  const { commandPrefixes } = rule;
  const isAllow = rule.decision === 'allow';
  if (commandPrefixes !== undefined) {
    const matches = commandPrefixes.map((prefix): Match => {
      const [words, ...others] = parseShellLine(prefix) ?? [];
      if (words === undefined || others.length > 0) return isAllow ? 'no' : 'unclear';
      return isAllow ? (beginsWith(part.words, words) ? 'yes' : 'no') : matchPart(part, words);
    });
    return (['yes', 'unclear'] as const).find((match) => matches.includes(match)) ?? 'no';
  }
  const command = part.words.join(' ');
  const match = matchTexts(rule, [canonicalJson({ ...args, command })], command);
  // It may run another program, whose words are not seen.
  return match === 'no' && !isAllow && part.compare === undefined ? 'unclear' : match;
}

/** Enough for any sensible pattern on a long file, and soon over. */
const MAX_STEPS = 1_000_000;

function matchTexts(rule: PolicyRule, texts: readonly string[], command: string | undefined): Match {
  const { argsPattern, commandPrefixes, commandRegex } = rule;
  if (commandPrefixes !== undefined)
    return commandPrefixes.some((prefix) => command !== undefined && isWordStart(command, prefix)) ? 'yes' : 'no';
  try {
    const pattern = compilePattern(argsPattern ?? `"command":"${commandRegex}`, '');
    return texts.some((text) => pattern.test(text, { left: MAX_STEPS })) ? 'yes' : 'no';
  } catch {
    // It takes too many steps.
    return 'unclear';
  }
}

function isWordStart(command: string, prefix: string): boolean {
  return command.startsWith(prefix) && /^(?:[\s"]|$)/.test(command.slice(prefix.length));
}

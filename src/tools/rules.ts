import type { Permission } from '../core/permission.ts';
import { parseShellLine } from '../core/text/command-line.ts';
import { BUILTIN_NAMES, findToolName, toOwner } from './builtins.ts';
import { runShellCommand } from './run-shell-command.ts';

/** An entry of `--allowed-tools`, `tools.allowed`, `tools.core` or `tools.exclude`: `name`, or `name(first words of a command)`. */
export interface ToolRule {
  readonly name: string;
  /** What is in the parentheses. */
  readonly command?: string;
}

/** The entries of a flag that may be repeated; a comma in parentheses does not separate them. */
export function splitRules(values: readonly string[]): readonly string[] {
  return values
    .flatMap((value) => {
      const entries: string[] = [''];
      let isInside = false;
      for (const character of value) {
        if (character === '(') isInside = true;
        else if (character === ')') isInside = false;
        if (character === ',' && !isInside) entries.push('');
        else entries[entries.length - 1] += character;
      }
      return entries;
    })
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

export function parseRule(entry: string): ToolRule {
  const start = entry.indexOf('(');
  if (start < 0) return { name: entry };
  // Without its end it is no command that could be understood.
  const command = entry.endsWith(')') ? entry.slice(start + 1, -1).trim() : entry.slice(start);
  return { name: entry.slice(0, start).trim(), command };
}

/** The words of a rule about commands; undefined if it has none, or they are no words of one plain command. */
function findRuleWords({ name, command }: ToolRule): readonly string[] | undefined {
  if (command === undefined || findToolName(name) !== runShellCommand.name) return undefined;
  // The official CLI also writes `git:*` for what begins with git.
  const [words, ...others] = parseShellLine(command.endsWith(':*') ? command.slice(0, -2) : command) ?? [];
  return others.length === 0 ? words : undefined;
}

/** What a rule allows of the built-in tools; undefined for one that is not about these, or not understood. */
export function toPermission(rule: ToolRule): Permission | undefined {
  const tool = findToolName(rule.name);
  if (tool === undefined) return undefined;
  if (rule.command === undefined) return { kind: 'tool', tool };
  const words = findRuleWords(rule);
  return words && { kind: 'prefix', words };
}

/** The rules about commands, with their words; without words, a rule is about every command, or is not understood. */
export function listCommandRules(
  entries: readonly string[],
): readonly (ToolRule & { readonly words: readonly string[] | undefined })[] {
  return entries
    .map((entry) => parseRule(entry.trim()))
    .filter(({ name }) => findToolName(name) === runShellCommand.name)
    .map((rule) => ({ ...rule, words: findRuleWords(rule) }));
}

export interface ToolLimits {
  readonly core?: readonly string[];
  readonly exclude?: readonly string[];
}

/**
 * Whether the settings allow a tool at all. Rules about some commands leave the shell tool; which ones it may run is
 * decided for each of them. In doubt they do not allow it: a rule that is not understood excludes all of its tool and
 * allows none of it.
 */
export function isAllowedBySettings(name: string, { core, exclude = [] }: ToolLimits): boolean {
  const isNamed = (rule: ToolRule, tool: string): boolean => (findToolName(rule.name) ?? rule.name) === tool;
  const isExcluded = exclude.some((entry) => {
    const rule = parseRule(entry.trim());
    return isNamed(rule, name) && findRuleWords(rule) === undefined;
  });
  const isCore =
    core === undefined ||
    !BUILTIN_NAMES.includes(name) ||
    core.some((entry) => {
      const rule = parseRule(entry.trim());
      return isNamed(rule, toOwner(name)) && (rule.command === undefined || findRuleWords(rule) !== undefined);
    });
  return isCore && !isExcluded;
}

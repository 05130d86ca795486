import { AppError } from '../core/error.ts';
import { findNearestNames } from '../core/text/names.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Effect } from '../core/tool.ts';
import { TOOL_SETS, type ToolDefinition } from './define.ts';
import { TOOLS } from './list.ts';

export const BUILTIN_NAMES: readonly string[] = TOOL_SETS.flatMap((set) => listNames((tool) => tool.set === set));

function listNames(isWanted: (tool: ToolDefinition) => boolean): readonly string[] {
  return TOOLS.filter(isWanted).map(({ name }) => name);
}

export function findBuiltin(name: string): ToolDefinition | undefined {
  return TOOLS.find((tool) => tool.name === name);
}

export function listNamesByEffect(effect: Effect): readonly string[] {
  return listNames((tool) => tool.effect === effect);
}

/** The tool whose use decides about this one: itself, unless it is a companion. */
export function toOwner(name: string): string {
  return findBuiltin(name)?.companionOf ?? name;
}

export function dropLoneCompanions<Kind extends { readonly name: string }>(tools: readonly Kind[]): readonly Kind[] {
  return tools.filter(({ name }) => tools.some((tool) => tool.name === toOwner(name)));
}

export function listOtherNames(name: string): Readonly<Record<'official' | 'claude', readonly string[]>> {
  const { officialNames: official = [], claudeNames: claude = [] } = findBuiltin(name) ?? {};
  return { official, claude };
}

/** By its own name, one of other programs, or that of its class. */
export function findToolName(name: string): string | undefined {
  const own = TOOLS.find(({ classNames = [] }) => classNames.includes(name))?.name ?? translateName(name);
  return BUILTIN_NAMES.includes(own) ? own : undefined;
}

function translateName(name: string): string {
  const isCalled = ({ officialNames = [], claudeNames = [] }: ToolDefinition): boolean =>
    officialNames.includes(name) || claudeNames.includes(name);
  return TOOLS.find(isCalled)?.name ?? name;
}

const SETS: readonly string[] = ['none', ...TOOL_SETS];

export function isToolSet(name: string): boolean {
  return SETS.includes(name);
}

/** The tools of these sets and names, always in the same order. Throws AppError `usage` for an unknown name. */
export function selectTools(wanted: readonly string[]): readonly ToolDefinition[] {
  if (wanted.length > 1 && wanted.includes('none')) {
    throw new AppError('usage', 'none cannot be combined with other tools', { hint: 'Use it alone, or leave it out.' });
  }
  const known = listNames(() => true);
  const names = wanted.filter((name) => !isToolSet(name)).map((name) => requireToolName(known, name));
  const reach = Math.max(...wanted.map((name) => SETS.indexOf(name)), 0);
  return TOOLS.filter(
    ({ name, set }) => SETS.indexOf(set) <= reach || names.includes(name) || names.includes(toOwner(name)),
  );
}

export function isSelected(name: string, wanted: readonly string[]): boolean {
  return selectTools(wanted).some((tool) => tool.name === name);
}

/**
 * Translates the names of other programs in `--allowed-tools`. Names of MCP servers, `server__tool` and `server__*`, are taken
 * as they are. Throws AppError `usage` for an unknown name.
 */
export function translateNames(wanted: readonly string[]): readonly string[] {
  return wanted.map((name) => (name.includes('__') ? name : requireToolName(BUILTIN_NAMES, name)));
}

export function isBuiltinName(name: string): boolean {
  return BUILTIN_NAMES.includes(translateName(name));
}

function requireToolName(names: readonly string[], name: string): string {
  const own = translateName(name);
  if (names.includes(own)) return own;
  const [near] = findNearestNames(name, names);
  throw new AppError('usage', `there is no tool ${sanitize(name)}`, {
    hint: near === undefined ? `There are: ${names.join(', ')}` : `Did you mean ${near}?`,
  });
}

import { isAbsolute, join } from 'node:path';
import type { App } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { NO_POLICIES, type PolicyFiles, type PolicyRule } from '../core/policy-rule.ts';
import { expandHome } from '../core/text/path.ts';
import { compilePattern } from '../core/text/pattern.ts';
import { isDirectory, pathExists } from '../platform/files/path.ts';
import { readDirectory } from '../platform/files/read.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import { readSetting } from './keys.ts';
import { findSystemDistrust, systemDirectory } from './layers.ts';
import { parseToml } from './toml.ts';

/** https://github.com/google-gemini/gemini-cli/blob/main/docs/reference/policy-engine.md */
const TIERS = { user: 4, admin: 5 } as const;

type PolicyApp = Pick<App, 'env' | 'homes' | 'settings'>;

/** The policies of the machine and of the user; those of a folder and of extensions do not count. Never throws. */
export async function readPolicies(app: PolicyApp): Promise<PolicyFiles> {
  const read: PolicyFiles[] = [];
  for (const place of await listPolicyPlaces(app)) {
    try {
      for (const file of await listPolicyFiles(place.path)) read.push(await readPolicyFile(file, place));
    } catch (thrown) {
      read.push(brokenFile(place.path, AppError.from(thrown).message));
    }
  }
  return {
    files: read.flatMap(({ files }) => files),
    rules: read.flatMap(({ rules }) => rules).sort((left, right) => right.priority - left.priority),
    broken: read.flatMap(({ broken }) => broken),
    ignored: read.flatMap(({ ignored }) => ignored),
  };
}

interface Place {
  readonly path: string;
  readonly tier: keyof typeof TIERS;
  /** The machine's own directory counts only if it belongs to root. */
  readonly isSystem?: true;
}

async function listPolicyPlaces(app: PolicyApp): Promise<readonly Place[]> {
  const { document = {} } = await app.settings();
  const system = join(systemDirectory(), 'policies');
  const toPlaces = (paths: readonly string[], tier: Place['tier']): readonly Place[] =>
    paths.map((path) => ({ path: expandHome(path, app.env.HOME), tier }));
  const named = readSetting(document, 'adminPolicyPaths') ?? [];
  const own = readSetting(document, 'policyPaths') ?? [];
  // Where the machine has policies, no setting adds to them, as in the official CLI.
  const added = named.length > 0 && (await tryListFiles(system)).length > 0 ? [] : named;
  return [
    { path: system, tier: 'admin', isSystem: true },
    ...toPlaces(added, 'admin'),
    ...toPlaces(own.length > 0 ? own : [join(app.homes().gemini, 'policies')], 'user'),
  ];
}

async function tryListFiles(path: string): Promise<readonly string[]> {
  return listPolicyFiles(path).catch(() => []);
}

async function listPolicyFiles(path: string): Promise<readonly string[]> {
  if (!isAbsolute(path)) throw new AppError('config', 'it must be an absolute path');
  if (!isDirectory(path)) return path.endsWith('.toml') && pathExists(path) ? [path] : [];
  const entries = await readDirectory(path);
  return entries
    .filter(({ name, kind }) => name.endsWith('.toml') && kind !== 'directory')
    .map(({ name }) => join(path, name));
}

function brokenFile(file: string, why: string): PolicyFiles {
  return { ...NO_POLICIES, files: [file], broken: [{ file, why }] };
}

async function readPolicyFile(file: string, { tier, isSystem }: Place): Promise<PolicyFiles> {
  const distrust = isSystem ? await findSystemDistrust({ file, owners: 'root' }) : undefined;
  if (distrust !== undefined) return { ...NO_POLICIES, ignored: [`${file} is not used: ${distrust}`] };
  try {
    const entries = await parseRules(readSmallFile(file) ?? '');
    const rules: PolicyRule[] = [];
    const broken: { file: string; why: string }[] = [];
    for (const [index, entry] of entries.entries()) {
      const rule = parsePolicyRule(entry);
      if (typeof rule === 'string') broken.push({ file, why: `rule ${index + 1}: ${rule}` });
      else rules.push({ ...rule, file, number: index + 1, priority: TIERS[tier] + rule.priority / 1000 });
    }
    return { files: [file], rules, broken, ignored: [] };
  } catch (thrown) {
    return brokenFile(file, AppError.from(thrown).message);
  }
}

async function parseRules(text: string): Promise<readonly JsonValue[]> {
  const { rule = [] } = await parseToml(text, (line) => `line ${line}`);
  if (Array.isArray(rule)) return rule;
  throw new AppError('config', 'rules begin with [[rule]]');
}

const DECISIONS = ['allow', 'deny', 'ask_user'] as const;
const MODES: Readonly<Record<string, string>> = {
  default: 'default',
  autoEdit: 'auto_edit',
  auto_edit: 'auto_edit',
  plan: 'plan',
  yolo: 'yolo',
};
const SHELL = 'run_shell_command';

/** The rule, or what is wrong with it. What gmn does not know about a rule may narrow it, and changes nothing here. */
function parsePolicyRule(entry: JsonValue): Omit<PolicyRule, 'file' | 'number'> | string {
  if (!isObject(entry)) return 'it is no table';
  const { decision, priority, toolName, mcpName, subagent, argsPattern, commandPrefix, commandRegex } = entry;
  const { toolAnnotations, modes, interactive, denyMessage, deny_message = denyMessage } = entry;
  const known = DECISIONS.find((each) => each === decision);
  if (known === undefined) return 'decision must be "allow", "deny" or "ask_user"';
  if (!isWhole(priority)) return 'priority must be 0 to 999';
  const texts = { mcpName, subagent, argsPattern, commandRegex, denyMessage: deny_message };
  const wrong = Object.entries(texts).find(([, value]) => value !== undefined && (typeof value !== 'string' || !value));
  if (wrong !== undefined) return `${wrong[0]} must be a text`;
  const lists = { toolName, commandPrefix, modes };
  const faulty = Object.entries(lists).find(([, value]) => value !== undefined && toTexts(value) === undefined);
  if (faulty !== undefined) return `${faulty[0]} must be a text, or a list of texts`;
  if (interactive !== undefined && typeof interactive !== 'boolean') return 'interactive must be true or false';
  if (toolAnnotations !== undefined && !isObject(toolAnnotations)) return 'toolAnnotations must be a table';
  const isCommand = commandPrefix !== undefined || commandRegex !== undefined;
  if (isCommand && toolName !== undefined && toolName !== SHELL) return `commands are of toolName = "${SHELL}"`;
  if ([commandPrefix, commandRegex, argsPattern].filter((each) => each !== undefined).length > 1)
    return 'commandPrefix, commandRegex and argsPattern exclude each other';
  if (toolName === undefined && mcpName === undefined && !isCommand) return 'toolName is missing; "*" means all';
  const unknown = toTexts(modes)?.find((mode) => !Object.hasOwn(MODES, mode));
  if (unknown !== undefined) return `there is no mode ${JSON.stringify(unknown)}`;
  const pattern = argsPattern ?? commandRegex;
  if (pattern !== undefined && !isMatchable(String(pattern))) return `${pattern} is no pattern that can be matched`;
  return {
    decision: known,
    priority,
    toolNames: toTexts(toolName) ?? [isCommand ? SHELL : '*'],
    mcpName: mcpName as string | undefined,
    subagent: subagent as string | undefined,
    toolAnnotations: toolAnnotations as JsonObject | undefined,
    argsPattern: argsPattern as string | undefined,
    commandPrefixes: toTexts(commandPrefix),
    commandRegex: commandRegex as string | undefined,
    modes: modes === undefined ? undefined : toTexts(modes)?.map((mode) => MODES[mode] ?? mode),
    interactive,
    message: deny_message as string | undefined,
  };
}

function toTexts(value: JsonValue | undefined): readonly string[] | undefined {
  const list = typeof value === 'string' ? [value] : value;
  const isValid = isList(list) && list.every((item) => typeof item === 'string' && item !== '');
  return isValid ? (list as readonly string[]) : undefined;
}

/** A number that JavaScript cannot hold is no such number, either. */
function isWhole(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 999;
}

function isMatchable(source: string): boolean {
  try {
    return compilePattern(source, '') !== undefined;
  } catch {
    return false;
  }
}

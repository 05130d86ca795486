import { basename, join, relative } from 'node:path';
import { AppError } from '../../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue, toNonEmptyString } from '../../core/json.ts';
import { contains, toSlashes } from '../../core/text/path.ts';
import { realPath } from '../../platform/files/path.ts';
import { readDirectory } from '../../platform/files/read.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { readSetting } from '../keys.ts';
import { isApprovedItem, isKnownItem } from '../trust.ts';
import { parseConventionFile, ReviewLimits, readConventionFile } from './front-matter.ts';
import { type ConventionPlace, listPlaces, type PlaceContext, type Skipped } from './places.ts';

/** A sub-agent of the official CLI, or of Claude Code. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  /** As written; absent: all that its parent has. */
  readonly tools?: readonly string[];
  /** As written: what it does not get of those. */
  readonly withoutTools: readonly string[];
  /** As written; absent: that of its parent. */
  readonly model?: string;
  readonly temperature?: number;
  readonly maxTurns: number;
  readonly timeoutMs: number;
  readonly prompt: string;
  readonly file: string;
  readonly scope: ConventionPlace['scope'];
  readonly extension?: string;
}

export interface FoundAgents {
  /** Sorted by name. */
  readonly agents: readonly AgentDefinition[];
  readonly skipped: readonly Skipped[];
}

/** It becomes the name of a tool, which begins with a letter or `_`. */
const NAME = /^[a-z_][a-z0-9_-]{0,62}$/;
const MAX_DESCRIPTION = 2000;
const MAX_AGENTS = 200;
const MAX_TURNS = 30;
const MAX_MINUTES = 10;

/** Of two with one name, the one whose place counts more. Never throws for what is in a file. */
export async function findAgents(context: PlaceContext): Promise<FoundAgents> {
  const overrides = readSetting(context.settings.document ?? {}, 'agents.overrides') ?? {};
  const found = new Map<string, AgentDefinition>();
  const skipped: Skipped[] = [];
  const limits = new ReviewLimits();
  for (const place of listPlaces('agents', context)) {
    for (const file of await listAgentFiles(place.directory)) {
      const agent = await readPlacedAgent(file, place, limits);
      if ('why' in agent) {
        skipped.push(agent);
        continue;
      }
      const override = overrides[agent.name];
      if (isObject(override) && override.enabled === false)
        skipped.push({
          ...skipAgent(agent.name, file, 'agents.overrides in the settings turns it off'),
          isQuiet: true,
        });
      else found.set(agent.name, agent);
    }
  }
  const agents = [...found.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  return { agents, skipped };
}

export async function listAgentFiles(directory: string): Promise<readonly string[]> {
  const entries = await readDirectory(directory).catch(() => []);
  return entries
    .filter(
      ({ name, kind }) =>
        (kind === 'file' || kind === 'link') && name.endsWith('.md') && !/^(?:_|readme\.)/i.test(name),
    )
    .map(({ name }) => join(directory, name))
    .sort()
    .slice(0, MAX_AGENTS);
}

async function readPlacedAgent(
  file: string,
  { folder, trust, record, scope, extension }: ConventionPlace,
  limits: ReviewLimits,
): Promise<AgentDefinition | Skipped> {
  const name = basename(file, '.md');
  if (trust !== undefined && !trust.isTrusted)
    return { ...skipAgent(name, file, trust.why), isQuiet: trust.isRefused, pendingIn: folder };
  try {
    if (folder === undefined)
      return { ...(await parseAgent(await readConventionFile(realPath(file) ?? file), file)), scope, extension };
    const changed = { ...skipAgent(name, file, 'it is new or has changed'), pendingIn: folder };
    if (!isKnownItem(record, { kind: 'agents', name: nameFolderAgent(file, folder) })) return changed;
    const { item, bytes } = await hashFolderAgent(file, folder);
    if (!isApprovedItem(record, item)) return changed;
    return { ...(await parseAgent(bytes, file, limits)), scope };
  } catch (thrown) {
    return skipAgent(name, file, AppError.from(thrown).message);
  }
}

function skipAgent(name: string, file: string, why: string): Skipped {
  return { kind: 'agent', name, file, why };
}

/** A folder's agent with its hash. Throws AppError `config` with the reason if it is faulty. */
export async function readFolderAgent(file: string, folder: string, limits: ReviewLimits) {
  const { item, bytes } = await hashFolderAgent(file, folder);
  return { item, agent: await parseAgent(bytes, file, limits) };
}

function nameFolderAgent(file: string, folder: string): string {
  const real = realPath(file);
  if (real === undefined || !contains(folder, real)) throw new AppError('config', `it leads out of ${folder}`);
  return toSlashes(relative(folder, real));
}

async function hashFolderAgent(file: string, folder: string) {
  const name = nameFolderAgent(file, folder);
  const bytes = await readConventionFile(join(folder, name));
  return { item: { kind: 'agents', name, hash: sha256(bytes) } as const, bytes };
}

async function parseAgent(
  bytes: Uint8Array,
  file: string,
  limits?: ReviewLimits,
): Promise<Omit<AgentDefinition, 'scope' | 'extension'>> {
  const { fields, body } = await parseConventionFile(bytes, limits);
  if (fields.kind === 'remote') throw new AppError('config', 'it is a remote agent, which gmn does not call');
  const name = toNonEmptyString(fields.name) ?? basename(file, '.md');
  if (!NAME.test(name))
    throw new AppError('config', 'its name must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter');
  const description = toNonEmptyString(fields.description)?.trim();
  if (!description) throw new AppError('config', 'it has no description');
  if (body === '') throw new AppError('config', 'there is nothing below its --- lines, which would tell it what to do');
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    tools: parseTools(fields, 'tools'),
    withoutTools: parseTools(fields, 'disallowedTools') ?? [],
    model: toNonEmptyString(fields.model),
    temperature: typeof fields.temperature === 'number' ? fields.temperature : undefined,
    maxTurns: takePositive(fields.max_turns, MAX_TURNS),
    timeoutMs: takePositive(fields.timeout_mins, MAX_MINUTES) * 60_000,
    prompt: body,
    file,
  };
}

/** The official CLI has a list, Claude Code a line with commas. Throws AppError `config`: nothing means all that its parent has. */
function parseTools(fields: JsonObject, key: string): readonly string[] | undefined {
  const tools = fields[key];
  if (tools === undefined || tools === null) return undefined;
  const names = typeof tools === 'string' ? tools.split(',') : tools;
  if (!isList(names) || !names.every((name) => typeof name === 'string'))
    throw new AppError('config', `"${key}" must be a list of names`);
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

function takePositive(value: JsonValue | undefined, limit: number): number {
  return typeof value === 'number' && value > 0 ? Math.min(value, limit) : limit;
}

import { basename, isAbsolute, join, sep } from 'node:path';
import type { App, Extension, Homes } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import {
  filterObjects,
  filterStrings,
  isList,
  isObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  toJsonObject,
  toNonEmptyString,
  tryParseJson,
} from '../../core/json.ts';
import { contains } from '../../core/text/path.ts';
import { trimTrailing } from '../../core/text/trim.ts';
import { isDirectory, pathExists, realPath } from '../../platform/files/path.ts';
import { readDirectory } from '../../platform/files/read.ts';
import { readSmallFile, tryReadSmallFile } from '../../platform/files/small-file.ts';
import { expandDocument, parseSettingsText } from '../document.ts';
import { readSetting } from '../keys.ts';
import type { Layer } from '../layer.ts';
import { parseEnvFile } from '../variables.ts';
import type { Skipped } from './places.ts';

const MANIFEST = 'gemini-extension.json';
const INSTALLATION = '.gemini-extension-install.json';
const ENABLEMENT = 'extension-enablement.json';
/** What the user answered when the official CLI installed it. */
const ANSWERS = '.env';
const DEFAULT_CONTEXT = 'GEMINI.md';
const MAX_EXTENSIONS = 200;

export interface ReadExtensions {
  /** Sorted by the name of their directory. */
  readonly extensions: readonly Extension[];
  /** One for each: its MCP servers, hooks, and the tools that it excludes. Nothing else of it is a setting. */
  readonly layers: readonly Layer[];
  readonly skipped: readonly Skipped[];
}

interface ExtensionContext extends Pick<App, 'cwd'> {
  readonly homes: Homes;
  readonly env: Env;
  /** `extensions.disabled` */
  readonly disabled: readonly string[];
}

/** Those that the official CLI has installed. Never throws: one that is faulty is named. */
export async function readExtensions({ homes, env, cwd, disabled }: ExtensionContext): Promise<ReadExtensions> {
  const home = join(homes.gemini, 'extensions');
  const enablement = toJsonObject(tryParseJson(tryReadSmallFile(join(home, ENABLEMENT)) ?? ''));
  const extensions: Extension[] = [];
  const layers: Layer[] = [];
  const skipped: Skipped[] = [];
  const entries = await readDirectory(home).catch(() => []);
  for (const { name } of [...entries]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .slice(0, MAX_EXTENSIONS)) {
    const directory = join(home, name);
    if (!isDirectory(directory)) continue;
    const skip = (why: string, isQuiet?: true): void =>
      void skipped.push({ kind: 'extension', name, file: join(directory, MANIFEST), why, isQuiet });
    try {
      const read = await readExtension(directory, { env, cwd });
      const isKnown = extensions.some((other) => other.name === read.extension.name);
      if (isKnown) skip('another one has the same name');
      else if (disabled.includes(read.extension.name)) skip('extensions.disabled in the settings names it', true);
      else if (!isEnabled(enablement[read.extension.name], cwd)) skip(`${ENABLEMENT} turns it off here`, true);
      else {
        extensions.push(read.extension);
        layers.push(read.layer);
      }
    } catch (thrown) {
      skip(AppError.from(thrown).message);
    }
  }
  return { extensions, layers, skipped };
}

/** The last rule that is about the path counts: `/code/*` with all below it, `!` turns it off. */
function isEnabled(entry: JsonValue | undefined, cwd: string): boolean {
  const place = `/${trimTrailing(cwd.replaceAll('\\', '/'), '/').replace(/^\/+/, '')}/`;
  let isOn = true;
  for (const rule of filterStrings(isObject(entry) ? entry.overrides : [])) {
    const isOff = rule.startsWith('!');
    const path = isOff ? rule.slice(1) : rule;
    const isAbout = path.endsWith('*') ? place.startsWith(path.slice(0, -1)) : place === path;
    if (isAbout) isOn = !isOff;
  }
  return isOn;
}

async function readExtension(
  directory: string,
  { env, cwd }: Pick<ExtensionContext, 'env' | 'cwd'>,
): Promise<{ readonly extension: Extension; readonly layer: Layer }> {
  const path = findInstalledPath(directory);
  const file = join(path, MANIFEST);
  const text = readSmallFile(file);
  if (text === undefined) throw new AppError('config', `it has no ${MANIFEST}`);
  const manifest = await parseSettingsText({ file, text });
  const name = toNonEmptyString(manifest.name);
  if (name === undefined || !/^[\w.-]{1,100}$/.test(name))
    throw new AppError('config', `its ${MANIFEST} has no name of letters, digits, _ . and -`);
  const answers = readAnswers(manifest, path);
  const paths = { extensionPath: path, workspacePath: cwd, '/': sep, pathSeparator: sep };
  const { mcpServers, tools } = await expandDocument(manifest, text, Object.assign({}, env, answers, paths));
  // `parseSettingsText` has moved `excludeTools` there.
  const exclude = isObject(tools) ? filterStrings(tools.exclude) : [];
  const document: Record<string, JsonValue> = {};
  if (isObject(mcpServers)) document.mcpServers = addAnswers(mcpServers as JsonObject, answers);
  if (exclude.length > 0) document.tools = { exclude };
  const hooks = readHooks(path);
  if (hooks !== undefined) document.hooks = hooks;
  const extension = {
    name,
    version: toNonEmptyString(manifest.version),
    path,
    file,
    contextFiles: listContextFiles(manifest, path),
  };
  return { extension, layer: { name: 'extension', source: file, state: 'used', document } };
}

/** One that was linked is where it is developed. */
function findInstalledPath(directory: string): string {
  const { type, source } = toJsonObject(tryParseJson(tryReadSmallFile(join(directory, INSTALLATION)) ?? ''));
  const isLink = type === 'link' && typeof source === 'string' && isAbsolute(source) && isDirectory(source);
  const path = isLink ? source : directory;
  return realPath(path) ?? path;
}

/** `parseSettingsText` has moved `contextFileName` to where the settings have it now. */
function listContextFiles(manifest: JsonObject, path: string): readonly string[] {
  const written = readSetting(manifest, 'context.fileName') ?? [];
  const named = isList(written) ? written : [written];
  const names = named.length === 0 ? [DEFAULT_CONTEXT] : named;
  return names
    .map((name) => join(path, name))
    .filter((file) => contains(path, realPath(file) ?? '') && pathExists(file));
}

/** Only those that the manifest asks for. */
function readAnswers({ settings }: JsonObject, path: string): Readonly<Record<string, string>> {
  const names = filterObjects(settings).flatMap(({ envVar }) => toNonEmptyString(envVar) ?? []);
  if (names.length === 0) return {};
  const { variables } = parseEnvFile(tryReadSmallFile(join(path, ANSWERS)) ?? '');
  return Object.fromEntries([...variables].filter(([name]) => names.includes(name)));
}

/** An extension cannot trust its own servers. */
function addAnswers(servers: JsonObject, answers: Readonly<Record<string, string>>): JsonObject {
  const entries = Object.entries(servers).map(([name, server]) => {
    if (!isObject(server)) return [name, server] as const;
    const { trust: _, env, ...rest } = server as JsonObject;
    const all = { ...answers, ...toJsonObject(env) };
    return [name, Object.keys(all).length === 0 ? rest : { ...rest, env: all }] as const;
  });
  return Object.fromEntries(entries);
}

/** As written: its paths are variables of a hook's environment. Throws AppError `config`. */
function readHooks(path: string): JsonObject | undefined {
  const file = join(path, 'hooks', 'hooks.json');
  const text = readSmallFile(file);
  if (text === undefined) return undefined;
  const value = tryParseJson(text);
  if (!isObject(value) || !isObject(value.hooks) || isTooDeep(value))
    throw new AppError('config', `${basename(file)} is not JSON with an object "hooks"`);
  return value.hooks as JsonObject;
}

import { dirname, join } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { pathExists } from '../platform/files/path.ts';
import { findDistrust, readSmallFile } from '../platform/files/small-file.ts';
import { systemPlatform } from '../platform/runtime/system.ts';
import type { ReadExtensions } from './conventions/extensions.ts';
import { expandDocument, findServerNotices, parseSettingsText } from './document.ts';
import { readEnvironment } from './environment.ts';
import { NO_HOME_NOTICE } from './home.ts';
import { defaultSetting, type PlainKey, ROWS, readSetting, type SettingValue } from './keys.ts';
import { absentLayer, ignoredLayer, type Layer, type LayerName, mergeDocuments, nestValue } from './layer.ts';

export interface Layers {
  readonly layers: readonly Layer[];
  readonly env: Env;
  readonly notices: readonly string[];
  readonly extensions: ReadExtensions['extensions'];
  /** Extensions that are installed, but not used. */
  readonly skipped: ReadExtensions['skipped'];
}

/** Throws AppError `config`, with `file:line:column`; a broken file of the workspace is skipped with a notice. */
export async function readLayers(app: Pick<App, 'env' | 'cwd' | 'homes'>): Promise<Layers> {
  const homes = app.homes();
  const { env, notices } = await readEnvironment(app.env, homes);
  const defaults = await readSystemLayer('system-defaults', findSystemDefaults(app.env), env);
  const user = await readLayer('user', join(homes.gemini, 'settings.json'), env);
  const claude = await readClaudeLayer(homes);
  const gmn = await readLayer('gmn', join(homes.gmn, 'config.json'), env);
  const system = await readSystemLayer('system', findSystemFile(app.env), env);
  const isTrustEnabled = (): boolean =>
    readTopmost([defaults, user, gmn, system], 'security.folderTrust.enabled') ??
    defaultSetting('security.folderTrust.enabled');
  const workspace = await readWorkspaceFiles({ ...app, env, realEnv: app.env, isTrustEnabled });
  const installed = await readExtensionsIfAny({ homes, env, cwd: app.cwd }, [defaults, user, gmn, system]);
  const { extensions, skipped } = installed;
  return {
    layers: [defaults, ...installed.layers, ...claude, user, gmn, ...workspace.layers, system, environmentLayer(env)],
    env,
    ...{ extensions, skipped },
    notices: [
      ...(homes.isMissing ? [NO_HOME_NOTICE] : []),
      ...notices,
      ...[defaults, system, ...claude].flatMap(formatIgnored),
      ...[defaults, user, gmn, system].flatMap((layer) => layer.notices ?? []),
      ...workspace.notices,
      ...skipped.flatMap(({ file, why, isQuiet }) => (isQuiet ? [] : [`${file} is not used: ${why}`])),
    ],
  };
}

export function readTopmost<Key extends PlainKey>(layers: readonly Layer[], key: Key): SettingValue<Key> | undefined {
  for (const { document } of layers.toReversed()) {
    const value = readSetting(document, key);
    if (value !== undefined) return value;
  }
  return undefined;
}

async function readLayer(name: LayerName, file: string, env: Env): Promise<Layer> {
  const text = readSmallFile(file);
  if (text === undefined) return absentLayer(name, file);
  const document = await expandDocument(await parseSettingsText({ file, text }), text, env);
  const notices = await findServerNotices({ file, text });
  return { name, source: file, state: 'used', document, notices };
}

/** The user's hooks for Claude Code. */
async function readClaudeLayer({ gemini, isMissing }: Homes): Promise<readonly Layer[]> {
  const file = join(dirname(gemini), '.claude', 'settings.json');
  if (isMissing || !pathExists(file)) return [];
  const { readClaudeHooks } = await import('./conventions/hooks.ts');
  try {
    const hooks = readClaudeHooks(file);
    return hooks === undefined ? [] : [{ name: 'user', source: file, state: 'used', document: { hooks } }];
  } catch (thrown) {
    return [ignoredLayer('user', file, AppError.from(thrown).message)];
  }
}

interface SystemFile {
  readonly file: string;
  /** A file named by the user may be their own; the default one must belong to root. */
  readonly owners: 'root' | 'root or me';
}

function findSystemFile({ GEMINI_CLI_SYSTEM_SETTINGS_PATH: named }: Env): SystemFile {
  if (named) return { file: named, owners: 'root or me' };
  return { file: join(systemDirectory(), 'settings.json'), owners: 'root' };
}

function findSystemDefaults(env: Env): SystemFile {
  if (env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH) return { file: env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH, owners: 'root or me' };
  const { file, owners } = findSystemFile(env);
  return { file: join(dirname(file), 'system-defaults.json'), owners };
}

async function readSystemLayer(name: LayerName, { file, owners }: SystemFile, env: Env): Promise<Layer> {
  if (readSmallFile(file) === undefined) return absentLayer(name, file);
  const distrust = await findSystemDistrust({ file, owners });
  return distrust === undefined ? readLayer(name, file, env) : ignoredLayer(name, file, distrust);
}

export async function findSystemDistrust({ file, owners }: SystemFile): Promise<string | undefined> {
  if (systemPlatform() !== 'win32') return findDistrust(file, owners);
  // One that the user's environment names is the user's choice.
  if (owners !== 'root') return undefined;
  const { findWindowsDistrust } = await import('../platform/files/windows-owner.ts');
  return findWindowsDistrust(file);
}

function formatIgnored({ source, state, why }: Layer): readonly string[] {
  return state === 'ignored' ? [`${source} is not used: ${why}`] : [];
}

const NO_EXTENSIONS: ReadExtensions = { extensions: [], layers: [], skipped: [] };

/** Most people have none, so what reads them is loaded here. */
async function readExtensionsIfAny(
  place: Pick<App, 'cwd'> & { readonly homes: Homes; readonly env: Env },
  layers: readonly Layer[],
): Promise<ReadExtensions> {
  if (place.homes.isMissing || !pathExists(join(place.homes.gemini, 'extensions'))) return NO_EXTENSIONS;
  const { readExtensions } = await import('./conventions/extensions.ts');
  const merged = mergeDocuments(layers.map(({ document }) => document));
  return readExtensions({ ...place, disabled: readSetting(merged, 'extensions.disabled') ?? [] });
}

async function readWorkspaceFiles({
  cwd,
  homes,
  ...rest
}: Pick<App, 'cwd' | 'homes'> & { readonly env: Env; readonly realEnv: Env; readonly isTrustEnabled: () => boolean }) {
  const file = join(cwd, '.gemini', 'settings.json');
  const absent = { layers: [absentLayer('workspace', file)], notices: [] };
  if (join(cwd, '.gemini') === homes().gemini) return absent;
  const others = ['.mcp.json', '.claude/settings.json', '.claude/settings.local.json'];
  if (!pathExists(file) && !others.some((name) => pathExists(join(cwd, name)))) return absent;
  // Most runs need nothing of folder trust, so it is loaded here.
  const { readWorkspace } = await import('./workspace.ts');
  return readWorkspace({ file, cwd, homes: homes(), ...rest });
}

function environmentLayer(env: Env): Layer {
  const found = ROWS.flatMap(([key, { variables = [] }]) => {
    const variable = variables.find((name) => env[name]);
    return variable === undefined ? [] : [{ key, variable, value: env[variable] ?? '' }];
  });
  return {
    name: 'environment',
    source: found.map(({ variable }) => variable).join(', '),
    state: found.length === 0 ? 'absent' : 'used',
    document: mergeDocuments(found.map(({ key, value }) => nestValue(key.split('.'), value))),
  };
}

/** Of the official CLI's files that hold for all users. */
export function systemDirectory(): string {
  const platform = systemPlatform();
  if (platform === 'win32') return 'C:\\ProgramData\\gemini-cli';
  if (platform === 'darwin') return '/Library/Application Support/GeminiCli';
  return '/etc/gemini-cli';
}

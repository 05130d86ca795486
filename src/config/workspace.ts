import { dirname, join } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { pathExists, realPath } from '../platform/files/path.ts';
import { readSmallFile } from '../platform/files/small-file.ts';
import {
  type FolderHooks,
  isApprovedHook,
  listClaudeFiles,
  listFolderHooks,
  restrictHooks,
} from './conventions/folder-hooks.ts';
import { isClaudeFile, readClaudeHooks } from './conventions/hooks.ts';
import { expandDocument, findServerNotices, parseSettingsText } from './document.ts';
import { findFolderRefusal, findValue, listSettingKeys } from './keys.ts';
import { absentLayer, ignoredLayer, type Layer, mergeDocuments, nestValue } from './layer.ts';
import { listWorkspaceServers, readSharedServers, restrictServers, SHARED_SERVERS } from './servers.ts';
import { decideTrust, isApprovedItem, readTrustRecords, type TrustDecision, type TrustItem } from './trust.ts';

interface WorkspaceInput extends Pick<App, 'cwd'> {
  readonly file: string;
  readonly realEnv: Env;
  readonly env: Env;
  readonly homes: Homes;
  readonly isTrustEnabled: () => boolean;
}

interface WorkspaceLayers {
  readonly layers: readonly Layer[];
  readonly notices: readonly string[];
}

/**
 * Of `.mcp.json` and of the settings, which count more. Only of a trusted folder; servers and hooks only if unchanged since
 * `gmn trust`; else a notice. Never throws.
 */
export async function readWorkspace(input: WorkspaceInput): Promise<WorkspaceLayers> {
  const { file, homes, cwd } = input;
  // In the home directory this is the user's own file; the official CLI sees it the same way.
  if (realPath(dirname(file)) === realPath(homes.gemini)) {
    return { layers: [absentLayer('workspace', file)], notices: [] };
  }
  const shared = join(cwd, SHARED_SERVERS);
  try {
    const records = readTrustRecords(homes);
    const decision = decideTrust({ env: input.realEnv, cwd, homes, isEnabled: input.isTrustEnabled(), records });
    const claude = listClaudeFiles(cwd, homes).filter((path) => tryReadClaudeHooks(path) !== undefined);
    if (!decision.isTrusted) return untrustedLayers([...[file, shared].filter(pathExists), ...claude], decision);
  } catch (thrown) {
    return brokenLayer(pathExists(file) ? file : shared, thrown);
  }
  const folder = realPath(cwd) ?? cwd;
  const own = await readTrustedSettings(input, folder).catch((thrown: unknown) => brokenLayer(file, thrown));
  const servers = await readTrustedServers(shared, own, { ...input, folder }).catch((thrown: unknown) =>
    brokenLayer(shared, thrown),
  );
  const others: WorkspaceLayers[] = [];
  for (const path of listClaudeFiles(cwd, homes))
    others.push(await readTrustedHooks(path, { homes, folder }).catch((thrown: unknown) => brokenLayer(path, thrown)));
  return {
    layers: [...servers.layers, ...others.flatMap(({ layers }) => layers), ...own.layers],
    notices: [...own.notices, ...servers.notices, ...others.flatMap(({ notices }) => notices)],
  };
}

function tryReadClaudeHooks(file: string): JsonObject | undefined {
  try {
    return readClaudeHooks(file);
  } catch {
    return undefined;
  }
}

function brokenLayer(file: string, thrown: unknown): WorkspaceLayers {
  const { message } = AppError.from(thrown);
  return { layers: [ignoredLayer('workspace', file, message)], notices: [`${file} is not used: ${message}`] };
}

function untrustedLayers(files: readonly string[], { why, isRefused }: TrustDecision): WorkspaceLayers {
  const notice = `${files.join(' and ')} ${files.length === 1 ? 'is' : 'are'} not used: ${why}. To trust the folder, run: gmn trust`;
  return { layers: files.map((file) => ignoredLayer('workspace', file, why)), notices: isRefused ? [] : [notice] };
}

interface TrustedLayers extends WorkspaceLayers {
  /** What the settings define, approved or not. */
  readonly serverNames?: readonly string[];
}

async function readTrustedSettings(input: WorkspaceInput, folder: string): Promise<TrustedLayers> {
  const { file, env, homes } = input;
  const text = readSmallFile(file);
  if (text === undefined) return { layers: [absentLayer('workspace', file)], notices: [] };
  const written = await parseSettingsText({ file, text });
  const { permitted, refused, refusedKeys } = divideDocument(written);
  const servers = divideItems(toServerItems(permitted), { homes, folder });
  const hooks = await divideHooks(permitted, { homes, folder });
  const restricted = restrictHooks(restrictServers(permitted, servers.approved), hooks.approved);
  const document = await expandDocument(restricted, text, env);
  const notices = [
    ...(refusedKeys.length === 0 ? [] : [`${file}: not taken from a folder's settings: ${refusedKeys.join(', ')}`]),
    ...(await findServerNotices({ file, text })),
    ...formatPending(file, { 'MCP server': servers.pending, hook: hooks.pending }),
    ...formatHookFaults(file, hooks.faults),
  ];
  const layer: Layer = { name: 'workspace', source: file, state: 'used', document, refused };
  return { layers: [layer], notices, serverNames: [...servers.approved, ...servers.pending] };
}

async function readTrustedServers(
  file: string,
  { serverNames = [] }: TrustedLayers,
  { env, homes, folder }: Pick<WorkspaceInput, 'env' | 'homes'> & { readonly folder: string },
): Promise<WorkspaceLayers> {
  const text = readSmallFile(file);
  if (text === undefined) return { layers: [], notices: [] };
  const written = Object.entries(await readSharedServers(file)).filter(([name]) => !serverNames.includes(name));
  const mcpServers = Object.fromEntries(written);
  const servers = divideItems(toServerItems({ mcpServers }), { homes, folder });
  const document = await expandDocument(restrictServers({ mcpServers }, servers.approved), text, env);
  const notices = formatPending(file, { 'MCP server': servers.pending });
  return { layers: [{ name: 'workspace', source: file, state: 'used', document }], notices };
}

/** Of a file of Claude Code. Throws AppError `config` if it is broken. */
async function readTrustedHooks(file: string, place: TrustPlace): Promise<WorkspaceLayers> {
  const written = readClaudeHooks(file);
  if (written === undefined) return { layers: [], notices: [] };
  const hooks = await divideHooks({ hooks: written }, place);
  const document = restrictHooks({ hooks: written }, hooks.approved);
  return {
    layers: [{ name: 'workspace', source: file, state: 'used', document }],
    notices: [...formatPending(file, { hook: hooks.pending }), ...formatHookFaults(file, hooks.faults)],
  };
}

async function divideHooks(document: JsonObject, { homes, folder }: TrustPlace) {
  const { hooks, faults } = await listFolderHooks(document, folder);
  const record = hooks.length === 0 ? undefined : readTrustRecords(homes).get(folder);
  const approved = hooks.filter((hook) => isApprovedHook(record, hook));
  return { approved, pending: hooks.filter((hook) => !approved.includes(hook)).map(({ name }) => name), faults };
}

function formatHookFaults(file: string, faults: FolderHooks['faults']): readonly string[] {
  const loud = faults.filter(({ isOther }) => !(isOther && isClaudeFile(file)));
  return loud.map(({ name, why }) => sanitize(`${file}: hook ${name} is not used: ${why}`));
}

function toServerItems(document: JsonObject): readonly TrustItem[] {
  return listWorkspaceServers(document).map(({ name, hash }) => ({ kind: 'servers', name, hash }));
}

interface TrustPlace {
  readonly homes: Homes;
  readonly folder: string;
}

function divideItems(items: readonly TrustItem[], { homes, folder }: TrustPlace) {
  const record = items.length === 0 ? undefined : readTrustRecords(homes).get(folder);
  const isKnown = (item: TrustItem): boolean => isApprovedItem(record, item);
  return {
    approved: items.filter(isKnown).map(({ name }) => name),
    pending: items.filter((item) => !isKnown(item)).map(({ name }) => name),
  };
}

/** One notice for all of a file. */
function formatPending(file: string, pending: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const lists = Object.entries(pending).flatMap(([kind, names]) => {
    if (names.length === 0) return [];
    const quoted = names.map((name) => sanitize(JSON.stringify(name))).join(', ');
    return [`${kind}${names.length > 1 ? 's' : ''} ${quoted}`];
  });
  if (lists.length === 0) return [];
  return [`${file}: ${lists.join(' and ')} new or changed, not used. To review and approve, run: gmn trust`];
}

/** Keys that gmn does not read are kept, since nothing depends on them. */
function divideDocument(document: JsonObject) {
  const refusedKeys = listSettingKeys().filter(
    (key) => findFolderRefusal(key) !== undefined && findValue(document, key.split('.')) !== undefined,
  );
  const paths = refusedKeys.map((key) => key.split('.'));
  return {
    permitted: paths.reduce(omitPath, document),
    refused: mergeDocuments(paths.map((path) => nestValue(path, findValue(document, path) ?? null))),
    refusedKeys,
  };
}

function omitPath(document: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const { [key]: value, ...others } = document;
  const inner = isObject(value) && rest.length > 0 ? omitPath(value as JsonObject, rest) : {};
  return Object.keys(inner).length === 0 ? others : { ...document, [key]: inner };
}

import { dirname } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { expandDocument, findServerNotices, parseSettingsText, type SettingsText } from './document.ts';
import { findFolderRefusal, findValue, listSettingKeys } from './keys.ts';
import { absentLayer, ignoredLayer, type Layer, mergeDocuments, nestValue } from './layer.ts';
import { listWorkspaceServers, restrictServers, type WorkspaceServer } from './servers.ts';
import { decideTrust, readTrustRecords, type TrustDecision, type TrustRecords } from './trust.ts';

interface WorkspaceInput extends SettingsText, Pick<App, 'cwd'> {
  readonly realEnv: Env;
  readonly env: Env;
  readonly homes: Homes;
  readonly isTrustEnabled: () => boolean;
}

interface WorkspaceLayer {
  readonly layer: Layer;
  readonly notices: readonly string[];
}

/** Only of a trusted folder, and servers only if unchanged since `gmn trust`; else a notice. Never throws. */
export async function readWorkspace(input: WorkspaceInput): Promise<WorkspaceLayer> {
  const { file, homes, cwd } = input;
  // In the home directory this is the user's own file; the official CLI sees it the same way.
  if (realPath(dirname(file)) === realPath(homes.gemini)) return { layer: absentLayer('workspace', file), notices: [] };
  try {
    const records = readTrustRecords(homes);
    const decision = decideTrust({ env: input.realEnv, cwd, homes, isEnabled: input.isTrustEnabled(), records });
    return decision.isTrusted ? await readTrustedLayer(input, records) : untrustedLayer(file, decision);
  } catch (thrown) {
    const { message } = AppError.from(thrown);
    return { layer: ignoredLayer('workspace', file, message), notices: [`${file} is not used: ${message}`] };
  }
}

function untrustedLayer(file: string, { why, isRefused }: TrustDecision): WorkspaceLayer {
  const notice = `${file} is not used: ${why}. To trust the folder, run: gmn trust`;
  return { layer: ignoredLayer('workspace', file, why), notices: isRefused ? [] : [notice] };
}

async function readTrustedLayer(input: WorkspaceInput, records: TrustRecords): Promise<WorkspaceLayer> {
  const { file, text, cwd, env } = input;
  const written = await parseSettingsText({ file, text });
  const { permitted, refused, refusedKeys } = divideDocument(written);
  const known = records.get(realPath(cwd) ?? cwd)?.servers ?? {};
  const servers = listWorkspaceServers(permitted);
  const isApproved = ({ name, hash }: WorkspaceServer): boolean => Object.hasOwn(known, name) && known[name] === hash;
  const approved = servers.filter(isApproved).map(({ name }) => name);
  const pending = servers.filter((server) => !isApproved(server)).map(({ name }) => name);
  const document = await expandDocument(restrictServers(permitted, approved), text, env);
  const notices = [
    ...(refusedKeys.length === 0 ? [] : [`${file}: not taken from a folder's settings: ${refusedKeys.join(', ')}`]),
    ...(await findServerNotices({ file, text })),
    ...(pending.length === 0 ? [] : [formatPending(file, pending)]),
  ];
  return { layer: { name: 'workspace', source: file, state: 'used', document, refused }, notices };
}

function formatPending(file: string, names: readonly string[]): string {
  const list = names.map((name) => sanitize(JSON.stringify(name))).join(', ');
  return `${file}: MCP server${names.length > 1 ? 's' : ''} ${list} new or changed, not used. To review and approve, run: gmn trust`;
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

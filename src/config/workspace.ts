import { dirname } from 'node:path';
import type { App, Homes } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { realPath } from '../platform/files/path.ts';
import { expandDocument, findServerNotices, parseSettingsText, type SettingsText } from './document.ts';
import { absentLayer, ignoredLayer, type Layer } from './layer.ts';
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

/** The author of a folder's settings must not decide who pays, who is asked, or what runs without approval. */
const FORBIDDEN_KEYS = [
  ['security'],
  ['oauth'],
  ['admin'],
  ['policyPaths'],
  ['adminPolicyPaths'],
  ['general', 'defaultApprovalMode'],
  ['tools', 'approvalMode'],
  ['tools', 'allowed'],
] as const;

/**
 * Reads the settings of the working directory. They count only if the folder is trusted, and its servers only if
 * unchanged since `gmn trust`. Everything skipped is in a notice. Never throws.
 */
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

function untrustedLayer(file: string, { why }: TrustDecision): WorkspaceLayer {
  return {
    layer: ignoredLayer('workspace', file, why),
    notices: [`${file} is not used: ${why}. To trust the folder, run: gmn trust`],
  };
}

async function readTrustedLayer(input: WorkspaceInput, records: TrustRecords): Promise<WorkspaceLayer> {
  const { file, text, cwd, env } = input;
  const written = await parseSettingsText({ file, text });
  const { document: permitted, dropped } = dropForbidden(written);
  const known = records.get(realPath(cwd) ?? cwd)?.servers ?? {};
  const servers = listWorkspaceServers(permitted);
  const isApproved = ({ name, hash }: WorkspaceServer): boolean => Object.hasOwn(known, name) && known[name] === hash;
  const approved = servers.filter(isApproved).map(({ name }) => name);
  const pending = servers.filter((server) => !isApproved(server)).map(({ name }) => name);
  const document = await expandDocument(restrictServers(permitted, approved), text, env);
  const notices = [
    ...(dropped.length === 0 ? [] : [`${file}: not taken from a folder's settings: ${dropped.join(', ')}`]),
    ...(await findServerNotices({ file, text })),
    ...(pending.length === 0 ? [] : [formatPending(file, pending)]),
  ];
  return { layer: { name: 'workspace', source: file, state: 'used', document }, notices };
}

function formatPending(file: string, names: readonly string[]): string {
  const list = names.map((name) => sanitize(JSON.stringify(name))).join(', ');
  return `${file}: MCP server${names.length > 1 ? 's' : ''} ${list} new or changed, not used. To review and approve, run: gmn trust`;
}

interface Permitted {
  readonly document: JsonObject;
  readonly dropped: readonly string[];
}

function dropForbidden(document: JsonObject): Permitted {
  let result = document;
  const dropped: string[] = [];
  for (const [first, second] of FORBIDDEN_KEYS) {
    const { [first]: value, ...rest } = result;
    if (value === undefined) continue;
    if (second === undefined) result = rest;
    else if (isObject(value) && Object.hasOwn(value, second)) {
      const { [second]: _, ...others } = value;
      result = { ...rest, [first]: others };
    } else continue;
    dropped.push(second === undefined ? first : `${first}.${second}`);
  }
  return { document: result, dropped };
}

import { join } from 'node:path';
import { parseSettingsText } from '../../config/document.ts';
import { findStrayKeys } from '../../config/explanation.ts';
import type { Layer } from '../../config/layer.ts';
import { readLayers } from '../../config/layers.ts';
import { resolveConfiguredModel } from '../../config/model-configs.ts';
import { findUnreadKeys } from '../../config/official-keys.ts';
import { readServerEnablement } from '../../config/server-enablement.ts';
import type { App, Settings } from '../../core/app.ts';
import { quoteIfNeeded } from '../../core/text/quote.ts';
import { type ConfiguredServer, listConfiguredServers } from '../../mcp/client/servers.ts';
import { resolveModel } from '../../models/choice.ts';
import { type Backend, DEFAULT_MODEL, FALLBACK_MODELS, findModelFacts } from '../../models/table.ts';
import { readSmallFile } from '../../platform/files/small-file.ts';
import { findProgram } from '../../platform/process/program-path.ts';
import {
  absentFinding,
  type Finding,
  failureFinding,
  okFinding,
  type Remedy,
  runCheck,
  warningFinding,
} from './finding.ts';

export async function checkSettings(app: App): Promise<readonly Finding[]> {
  const broken = (await Promise.all(listSettingsFiles(app).map(checkFile))).flat();
  if (broken.length > 0) return broken;
  const { layers, notices } = await readLayers(app);
  const files = layers.filter(({ name, state }) => state === 'used' && name !== 'environment');
  const none: Finding = absentFinding('settings', 'no settings files');
  return [
    ...(files.length === 0 ? [none] : files.map(checkLayer)),
    // Each notice ends with its own remedy, if there is one.
    ...notices.map((text): Finding => ({ check: 'settings', state: 'warning', text })),
    ...checkTrust(layers, notices),
  ];
}

/** Checked one by one, since reading all settings stops at the first invalid file. */
function listSettingsFiles(app: App): readonly string[] {
  const { gemini, gmn } = app.homes();
  return [join(gemini, 'settings.json'), join(gmn, 'config.json')];
}

function checkFile(file: string): Promise<readonly Finding[]> {
  return runCheck('settings', async () => {
    const text = readSmallFile(file);
    if (text !== undefined) await parseSettingsText({ file, text });
    return [];
  });
}

function checkLayer({ source, document }: Layer): Finding {
  const strays = findStrayKeys(document);
  const unread = findUnreadKeys(document);
  if (strays.length === 0) {
    const text = unread.length === 0 ? source : `${source}; not read by gmn: ${unread.join(', ')}`;
    return okFinding('settings', text);
  }
  const list = strays.map(({ key, meant }) => `${key} (did you mean ${meant}?)`).join(', ');
  const remedies = strays.map(({ meant }) => ({
    words: 'To see the value in use',
    command: `gmn config explain ${meant}`,
  }));
  return warningFinding('settings', `${source}: gmn does not read ${list}`, ...remedies);
}

/** Why the settings of a folder are not used is among the notices, unless you said no. */
function checkTrust(layers: readonly Layer[], notices: readonly string[]): readonly Finding[] {
  const workspace = layers.findLast(({ name }) => name === 'workspace');
  if (workspace?.state === 'ignored') {
    const isKnown = notices.some((notice) => notice.startsWith(workspace.source));
    const text = `the settings of this folder are not used: ${workspace.why}. To trust it, run: gmn trust`;
    return isKnown ? [] : [absentFinding('trust', text)];
  }
  return workspace?.state === 'used'
    ? [okFinding('trust', 'the settings of this folder are used')]
    : [absentFinding('trust', 'this folder has no settings of its own')];
}

interface Answerer {
  readonly backend?: Backend;
  /** The fallback model of this account, if an earlier run had to use it. */
  readonly fallback?: string;
}

/** Throws AppError for a model that cannot be used. */
export function checkModelSetting(
  { model, modelConfigs = {} }: Settings,
  { backend = 'gemini-api', fallback }: Answerer,
): Finding {
  const resolveName = (name: string | undefined) => resolveModel(name, { backend, source: 'settings' });
  const configured = resolveConfiguredModel(modelConfigs, model, (name) => resolveName(name).id);
  const choice = resolveName(configured.model ?? model);
  const { id, isDefault } = choice;
  const notices = [...choice.notices, ...configured.notices];
  const list = { words: 'To choose another', command: 'gmn models' };
  if (isDefault) {
    const text =
      fallback === undefined
        ? `${DEFAULT_MODEL}, the default; where it is retired, ${FALLBACK_MODELS[backend]} answers`
        : `${fallback} answers: ${DEFAULT_MODEL}, the default, is gone for this account`;
    return okFinding('model', text);
  }
  if (notices.length > 0) return { check: 'model', state: 'warning', text: notices.join(' '), remedies: [list] };
  const { status, note } = findModelFacts(id) ?? {};
  const name = id === model ? id : `${model}, which is ${id}`;
  if (status !== 'retiring' && status !== 'retired') return okFinding('model', name);
  return warningFinding(
    'model',
    `${name} is ${status === 'retired' ? 'retired' : 'being retired'}${note ? `: ${note}` : ''}`,
    list,
  );
}

/** Starts none of them. */
export function checkDefinitions(app: App, settings: Settings): readonly Finding[] {
  const { servers, faulty, disabled } = listConfiguredServers({
    ...settings,
    isOfficiallyDisabled: readServerEnablement(app.homes().gemini).isDisabled,
  });
  if (servers.length + faulty.length + disabled.length === 0) {
    return [absentFinding('mcp', 'no MCP servers')];
  }
  return [
    ...servers.map((server) => checkDefinition(server, app)),
    ...faulty.map(
      ({ name, why, file }): Finding =>
        failureFinding('mcp', 'config', `${name}: ${why} (${file})`, explainRemedy(name)),
    ),
    ...disabled.map(({ name, why }): Finding => absentFinding('mcp', `${name}: ${why}`)),
  ];
}

function checkDefinition({ name, definition }: ConfiguredServer, { env, cwd }: App): Finding {
  // Only the origin: the rest of a URL may hold a secret.
  if (definition.kind !== 'stdio') {
    return okFinding('mcp', `${name}: ${new URL(definition.url).origin}`);
  }
  const { command } = definition;
  const path = { PATH: definition.env.PATH ?? env.PATH, Path: env.Path, PATHEXT: env.PATHEXT };
  if (findProgram(command, path, definition.cwd ?? cwd) !== undefined) {
    return okFinding('mcp', `${name}: ${command}`);
  }
  return failureFinding(
    'mcp',
    'mcp',
    `${name}: there is no program ${command}`,
    { words: 'Install it, or fix its entry' },
    explainRemedy(name),
  );
}

function explainRemedy(name: string): Remedy {
  const key = /^[^."\\\s]+$/.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`;
  return { words: 'To see the entry', command: `gmn config explain ${quoteIfNeeded(`mcpServers.${key}`)}` };
}

import { printReport, type WordOptions } from '../../app/report.ts';
import { explainKey, parseKey } from '../../config/explanation.ts';
import { findValue, formatKeyPath } from '../../config/keys.ts';
import { type Layer, mergeDocuments } from '../../config/layer.ts';
import { parseSettingWords } from '../../config/setting-text.ts';
import { editSettings } from '../../config/settings-edit.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isList, type JsonValue } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';
import { parseDefinition } from '../../mcp/client/definition.ts';
import { resolveModel } from '../../models/choice.ts';
import { ownSettingsFile, readAllLayers, toEditPath } from './layers.ts';

/**
 * Sets a key in gmn's own settings file and says what overrides it, if anything does. Throws AppError `usage` for an
 * unknown key, a wrong value or a secret, `config` if a settings file is invalid; the file is then untouched.
 */
export async function run(options: WordOptions, app: App): Promise<number> {
  const [name, ...words] = options.args;
  if (name === undefined || words.length === 0) {
    throw new AppError('usage', 'config set takes a key and a value', {
      hint: 'Example: gmn config set model.name gemini-2.5-pro',
    });
  }
  const path = parseKey(name);
  const value = parseSettingWords(path, words);
  const doubts = await checkValue(path, value, app);
  await readAllLayers(app);
  const file = ownSettingsFile(app);
  const outcome = await editSettings(file, app, () => [{ path: toEditPath(path), value }]);
  const { layers } = await readAllLayers(app);
  const effect = explainKey(path, layers);
  const { key } = effect;
  const wins = effect.layers[0]?.source === file && !effect.isCombined;
  const text = `${key} ${outcome === 'written' ? '=' : 'was already'} ${JSON.stringify(value)} in ${file}\n`;
  const notices = [...(wins ? [] : [describeOverride(effect, file)]), ...doubts, ...findServerFault(path, layers)];
  const json = { key, value, file, changed: outcome === 'written', wins };
  return printReport({ text, json, notices }, options, app);
}

/** Checks the value as a run would. Returns what may not be meant; throws AppError if no run could use it. */
async function checkValue(path: readonly string[], value: JsonValue, app: App): Promise<readonly string[]> {
  const key = formatKeyPath(path);
  if (key === 'tools.sandbox') {
    const { findWantedEngine } = await import('../../engine/tools/sandbox/sandbox.ts');
    const settings = { ...(await app.settings()), document: { tools: { sandbox: value } } };
    await findWantedEngine({}, { settings: async () => settings });
  }
  if (key === 'model.name') return resolveModel(String(value), { backend: 'gemini-api', source: key }).notices;
  if (path.length === 2 && path[0] === 'mcpServers') {
    const definition = parseDefinition(value);
    if (definition.kind === 'fault') {
      const hint = 'To add a server: gmn mcp add --help';
      throw new AppError('usage', `${sanitize(key)} is not an MCP server: ${definition.why}`, { hint });
    }
  }
  if (!['tools.allowed', 'tools.core', 'tools.exclude'].includes(key)) return [];
  const { findToolName } = await import('../../tools/builtins.ts');
  const { parseRule } = await import('../../tools/rules.ts');
  return (isList(value) ? value : [])
    .filter((entry) => typeof entry === 'string')
    .map((entry) => parseRule(entry).name)
    .filter((name) => findToolName(name) === undefined && !name.includes('__'))
    .map((name) => `gmn has no tool "${sanitize(name)}": the entry counts only if an MCP server has one`);
}

function findServerFault([first, name]: readonly string[], layers: readonly Layer[]): readonly string[] {
  if (first !== 'mcpServers' || name === undefined) return [];
  const entry = findValue(mergeDocuments(layers.map(({ document }) => document)), [first, name]);
  const definition = parseDefinition(entry ?? null);
  return definition.kind === 'fault' ? [`the MCP server ${sanitize(name)} cannot be used: ${definition.why}`] : [];
}

function describeOverride({ key, value, layers }: ReturnType<typeof explainKey>, file: string): string {
  const own = layers.findIndex(({ source }) => source === file);
  const above = layers.slice(0, Math.max(own, 0));
  const others = (above.length > 0 ? above : layers.filter(({ source }) => source !== file)).map(
    ({ source }) => source,
  );
  const verb = above.length > 0 ? 'overridden by' : 'combined with';
  return `${verb} ${others.join(' and ')}: here ${key} is ${JSON.stringify(value)}`;
}

import { AppError } from '../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue, toJsonObject } from '../core/json.ts';
import { DEFAULT_MODEL } from '../models/table.ts';

export interface ConfiguredModel {
  readonly model?: string;
  /** Fields of generationConfig; flags override them. */
  readonly config: JsonObject;
  readonly notices: readonly string[];
}

interface ModelConfig {
  readonly model?: string;
  readonly config: JsonObject;
}

/** The official CLI's own aliases, which users' aliases may extend; without its request for thoughts. */
const BUILT_IN_ALIASES: JsonObject = {
  base: { modelConfig: { generateContentConfig: { temperature: 0, topP: 1 } } },
  'chat-base': {
    extends: 'base',
    modelConfig: { generateContentConfig: { temperature: 1, topP: 0.95, topK: 64 } },
  },
  'chat-base-2.5': {
    extends: 'chat-base',
    modelConfig: { generateContentConfig: { thinkingConfig: { thinkingBudget: 8192 } } },
  },
  'chat-base-3': {
    extends: 'chat-base',
    modelConfig: { generateContentConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } },
  },
};

const SUPPORTED_FIELDS: readonly string[] = (
  'temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty ' +
  'frequencyPenalty seed responseMimeType responseModalities mediaResolution speechConfig audioTimestamp thinkingConfig'
).split(' ');

/**
 * Applies aliases and overrides in the order of the official CLI: aliases from the root of their chain, then overrides
 * of the model, then those of an alias, more specific ones later. `resolveId` gives the model for a name without them.
 * Throws AppError `config` if an alias cannot be resolved.
 */
export function resolveConfiguredModel(
  modelConfigs: JsonObject,
  requested: string | undefined,
  resolveId: (name: string | undefined) => string,
): ConfiguredModel {
  const own = { ...toJsonObject(modelConfigs.aliases), ...toJsonObject(modelConfigs.customAliases) };
  const isAlias = requested !== undefined && Object.hasOwn(own, requested);
  const chain = isAlias ? resolveChain(requested, { ...BUILT_IN_ALIASES, ...own }) : [];
  const base = chain.reduce<ModelConfig>((sum, { alias }) => mergeConfig(sum, alias.modelConfig), { config: {} });
  if (isAlias && base.model === undefined) throw aliasError(requested, 'names no model');
  const names = isAlias ? chain.map(({ name }) => name) : [requested ?? DEFAULT_MODEL];
  const levels = new Map([
    [resolveId(base.model ?? requested), 0],
    ...names.map((name, index) => [name, index + 1] as const),
  ]);
  const { model, config } = selectOverrides(modelConfigs, levels).reduce(mergeConfig, base);
  const unsupported = Object.keys(config).filter((key) => !SUPPORTED_FIELDS.includes(key));
  return {
    model,
    config: Object.fromEntries(Object.entries(config).filter(([key]) => SUPPORTED_FIELDS.includes(key))),
    notices: unsupported.length === 0 ? [] : [`modelConfigs in your settings: gmn ignores ${unsupported.join(', ')}`],
  };
}

interface AliasLink {
  readonly name: string;
  readonly alias: JsonObject;
}

function resolveChain(name: string, aliases: JsonObject): readonly AliasLink[] {
  const chain: AliasLink[] = [];
  let next: JsonValue | undefined = name;
  while (typeof next === 'string') {
    const current: string = next;
    if (chain.some((link) => link.name === current)) throw aliasError(name, `extends itself through "${current}"`);
    if (!Object.hasOwn(aliases, current)) throw aliasError(name, `extends "${current}", which does not exist`);
    const alias: JsonObject = toJsonObject(aliases[current]);
    chain.unshift({ name: current, alias });
    next = alias.extends;
  }
  return chain;
}

function aliasError(name: string, what: string): AppError {
  return new AppError('config', `modelConfigs: the alias "${name}" ${what}`, {
    hint: 'To see where it is set: gmn config explain modelConfigs.customAliases',
  });
}

function selectOverrides(modelConfigs: JsonObject, levels: ReadonlyMap<string, number>): readonly JsonValue[] {
  const all = [modelConfigs.overrides, modelConfigs.customOverrides].flatMap((list) => (isList(list) ? list : []));
  return all
    .flatMap((item) => {
      const { match, modelConfig } = toJsonObject(item);
      const entries = Object.entries(toJsonObject(match));
      if (entries.length === 0 || !entries.every(([key, value]) => matchesScope(key, value, levels))) return [];
      const { model } = toJsonObject(match);
      const level = typeof model === 'string' ? (levels.get(model) ?? 0) : 0;
      return [{ level, size: entries.length, modelConfig: modelConfig ?? null }];
    })
    .sort((a, b) => a.level - b.level || a.size - b.size)
    .map(({ modelConfig }) => modelConfig);
}

/** `overrideScope` names an agent of the official CLI; `core` means none. Other conditions never hold here. */
function matchesScope(key: string, value: JsonValue | undefined, levels: ReadonlyMap<string, number>): boolean {
  if (key === 'model') return typeof value === 'string' && levels.has(value);
  return key === 'overrideScope' && value === 'core';
}

function mergeConfig(below: ModelConfig, value: JsonValue | undefined): ModelConfig {
  const { model, generateContentConfig } = toJsonObject(value);
  const name = typeof model === 'string' && model !== '' ? { model } : {};
  return { ...below, ...name, config: mergeDeep(below.config, toJsonObject(generateContentConfig)) };
}

function mergeDeep(below: JsonObject, above: JsonObject): JsonObject {
  const entries = Object.entries(above).map(([key, value]): [string, JsonValue | undefined] => {
    const under = Object.hasOwn(below, key) ? below[key] : undefined;
    const isBoth = isObject(under) && isObject(value);
    return [key, isBoth ? mergeDeep(toJsonObject(under), toJsonObject(value)) : value];
  });
  return { ...below, ...Object.fromEntries(entries) };
}

import { type App, type HookSource, OUTPUT_FORMATS, type ServerSetting, type Settings } from '../core/app.ts';
import { AppError } from '../core/error.ts';
import { isObject, type JsonObject, toJsonObject } from '../core/json.ts';
import { sanitize } from '../core/text/terminal.ts';
import { readSetting } from './keys.ts';
import { type Layer, mergeDocuments } from './layer.ts';
import { readLayers, readTopmost } from './layers.ts';

/** Frozen. `document` keeps keys that gmn does not know. Throws AppError `config`, with file and position. */
export async function loadSettings(app: Pick<App, 'env' | 'cwd' | 'homes'>): Promise<Settings> {
  const { layers, env, notices, extensions } = await readLayers(app);
  // Merged on first use: a one-shot needs neither the document nor the servers.
  const document = once(() => deepFreeze(mergeDocuments(layers.map((layer) => layer.document))));
  const others = layers.filter(({ name, state }) => name !== 'workspace' || state !== 'used');
  const own =
    others.length === layers.length
      ? document
      : once(() => deepFreeze(mergeDocuments(others.map((layer) => layer.document))));
  const format = readOutputFormat(layers);
  const hasModelConfigs = layers.some((layer) => isObject(layer.document.modelConfigs));
  const servers = once(() => deepFreeze(listServers(document(), layers)));
  return Object.freeze({
    // Not frozen: it may be `process.env`, which cannot be.
    env,
    notices: Object.freeze([...notices, ...format.notices]),
    get document() {
      return document();
    },
    get ownDocument() {
      return own();
    },
    get servers() {
      return servers();
    },
    get serverCommand() {
      return findServerCommand(layers);
    },
    extensions,
    get hooks() {
      return listHooks(layers);
    },
    model: readTopmost(layers, 'model.name') || undefined,
    authType: readTopmost(layers, 'security.auth.selectedType') || undefined,
    enforcedAuthType: readTopmost(layers, 'security.auth.enforcedType') || undefined,
    oauthClient: readOauthClient(layers),
    keepsOneShots: readTopmost(layers, 'sessions.oneShot'),
    retention: readTopmost(layers, 'sessions.retention') || undefined,
    maxAttempts: readTopmost(layers, 'general.maxAttempts'),
    store: readTopmost(layers, 'request.store'),
    outputFormat: format.chosen,
    modelConfigs: hasModelConfigs ? toJsonObject(document().modelConfigs) : undefined,
  });
}

function readOutputFormat(layers: readonly Layer[]): {
  readonly chosen?: Settings['outputFormat'];
  readonly notices: readonly string[];
} {
  const value = readTopmost(layers, 'output.format');
  if (value === undefined) return { notices: [] };
  const chosen = OUTPUT_FORMATS.find((format) => format === value);
  if (chosen !== undefined) return { chosen, notices: [] };
  return { notices: [`output.format cannot be "${sanitize(value)}": it is ${OUTPUT_FORMATS.join(', ')}`] };
}

function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}

function readOauthClient(layers: readonly Layer[]): { readonly id: string; readonly secret: string } | undefined {
  const id = readTopmost(layers, 'oauth.clientId');
  const secret = readTopmost(layers, 'oauth.clientSecret');
  if (id && secret) return { id, secret };
  if (!id && !secret) return undefined;
  const [there, missing] = id ? ['oauth.clientId', 'oauth.clientSecret'] : ['oauth.clientSecret', 'oauth.clientId'];
  throw new AppError('config', `${there} is set, but ${missing} is not`, {
    hint: `Set both or neither. To see where it is set: gmn config explain ${there}`,
  });
}

function listServers(document: JsonObject, layers: readonly Layer[]): readonly ServerSetting[] {
  const servers = Object.entries(readSetting(document, 'mcpServers') ?? {});
  return servers.flatMap(([name, definition]) => {
    const owner = layers.findLast(
      (layer) => isObject(layer.document.mcpServers) && Object.hasOwn(layer.document.mcpServers, name),
    );
    if (owner === undefined || definition === undefined) return [];
    return [{ name, definition, scope: toServerScope(owner), file: owner.source }];
  });
}

function findServerCommand(layers: readonly Layer[]): ServerSetting | undefined {
  const owner = layers.findLast(({ document }) => readSetting(document, 'mcp.serverCommand') !== undefined);
  const definition = owner === undefined ? '' : (readSetting(owner.document, 'mcp.serverCommand') ?? '');
  if (owner === undefined || definition.trim() === '') return undefined;
  return { name: 'mcp', definition, scope: toServerScope(owner), file: owner.source };
}

function listHooks(layers: readonly Layer[]): readonly HookSource[] {
  return layers.flatMap((layer) => {
    const hooks = readSetting(layer.document, 'hooks');
    const scope = toServerScope(layer);
    if (hooks === undefined) return [];
    return [{ scope: scope === 'workspace' ? 'folder' : scope, file: layer.source, hooks }];
  });
}

function toServerScope({ name }: Layer): Exclude<ServerSetting['scope'], 'flag' | 'client'> {
  if (name === 'workspace' || name === 'extension') return name;
  return name === 'system' || name === 'system-defaults' ? 'system' : 'user';
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

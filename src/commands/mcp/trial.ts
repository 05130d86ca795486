import { formatFirstLine } from '../../app/servers/view.ts';
import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue, tryParseJson } from '../../core/json.ts';
import { formatBlock } from '../../engine/tools/servers/content.ts';
import { readTextOrFile } from '../../input/text-or-file.ts';
import { simplifyMessage } from '../../mcp/client/errors.ts';
import type { Connection, Listing, RemotePrompt, RemoteResource, RemoteTool } from '../../mcp/client/types.ts';

export interface Trial {
  readonly what: string;
  readonly error?: string;
}

interface TrialCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

interface TrialOptions {
  readonly calls: readonly TrialCall[] | undefined;
  readonly tools: Listing<RemoteTool>;
  readonly prompts: Listing<RemotePrompt>;
  readonly resources: Listing<RemoteResource>;
}

/** One after the other. A failure is data; throws only the signal's reason. */
export async function tryEverything(
  connection: Connection,
  options: TrialOptions,
  signal: AbortSignal,
): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const error = await work().then(
      () => undefined,
      (thrown: unknown) => formatFirstLine(AppError.from(thrown).shortMessage, 300),
    );
    signal.throwIfAborted();
    trials.push({ what, error });
  };
  const sampleCalls = options.tools.items.map(({ name, inputSchema }) => ({
    name,
    arguments: createSampleArguments(inputSchema),
  }));
  for (const { name, arguments: args } of options.calls ?? sampleCalls) {
    await attempt(`tool ${name}`, async () => {
      const { isError, content } = await connection.callTool(name, args, { signal });
      const text = content.flatMap((block) => formatBlock(block) ?? []).join(' ');
      if (isError) throw new AppError('mcp', connection.redact(simplifyMessage(text)));
    });
  }
  for (const { name, arguments: taken } of options.prompts.items) {
    const args = Object.fromEntries(taken.map((argument) => [argument.name, 'test']));
    await attempt(`prompt ${name}`, () => connection.getPrompt(name, args, { signal }));
  }
  for (const { uri } of options.resources.items) {
    await attempt(`resource ${uri}`, () => connection.readResource(uri, { signal }));
  }
  return trials;
}

export async function readCalls(text: string | undefined, app: App): Promise<readonly TrialCall[] | undefined> {
  if (text === undefined) return undefined;
  const value = tryParseJson(await readTextOrFile(text, '--calls', app));
  if (Array.isArray(value)) return value.map(parseCall);
  throw callsError();
}

function parseCall(value: unknown): TrialCall {
  if (!isObject(value) || typeof value.name !== 'string') throw callsError();
  return { name: value.name, arguments: isObject(value.arguments) ? (value.arguments as JsonObject) : {} };
}

function callsError(): AppError {
  return new AppError('usage', '--calls: that is not a list of calls', {
    hint: `Example: --calls '[{"name":"echo","arguments":{"message":"hi"}}]'`,
  });
}

/** A schema may be recursive; deeper samples are left empty. */
const MAX_DEPTH = 5;

export function createSampleArguments(schema: JsonObject): JsonObject {
  const sample = createSample({ ...schema, type: 'object' }, 0);
  return isObject(sample) ? sample : {};
}

function createSample(schema: JsonObject, depth: number): JsonValue {
  const { default: fallback, const: only, enum: choices, examples, type, properties, items } = schema;
  const given = [fallback, only, isList(examples) ? examples[0] : undefined, isList(choices) ? choices[0] : undefined];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  switch (isList(type) ? type[0] : type) {
    case 'object':
      return depth >= MAX_DEPTH || !isObject(properties) ? {} : createSampleObject(schema, properties, depth);
    case 'array':
      return isObject(items) && depth < MAX_DEPTH ? [createSample(items, depth + 1)] : [];
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'test';
  }
}

function createSampleObject({ required }: JsonObject, properties: JsonObject, depth: number): JsonObject {
  const needed = isList(required) ? required : [];
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => needed.includes(name) || depth === 0)
      .map(([name, value]) => [name, createSample(isObject(value) ? value : {}, depth + 1)]),
  );
}

import { AppError } from '../core/error.ts';
import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { Connection, Listing, RemotePrompt, RemoteResource, RemoteTool } from '../mcp/client/connection.ts';
import { textOfBlock } from './mcp-content.ts';
import { firstLine } from './mcp-view.ts';

/** One thing that was tried, and what went wrong, in words for the person. */
export interface Trial {
  readonly what: string;
  readonly error?: string;
}

interface Offers {
  readonly tools: Listing<RemoteTool>;
  readonly prompts: Listing<RemotePrompt>;
  readonly resources: Listing<RemoteResource>;
}

/** Deeper samples than this are left empty: a schema may go on for ever. */
const MAX_DEPTH = 5;

/**
 * Calls every tool with sample arguments, gets every prompt, reads every resource, one after the other. A failure is
 * data; throws the signal's reason only.
 */
export async function tryEverything(
  connection: Connection,
  offers: Offers,
  signal: AbortSignal,
): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  const attempt = async (what: string, work: () => Promise<string | undefined>): Promise<void> => {
    const error = await work().catch((thrown: unknown) => AppError.from(thrown).words);
    signal.throwIfAborted();
    trials.push({ what, ...(error === undefined ? {} : { error: firstLine(error, 300) }) });
  };
  for (const { name, inputSchema } of offers.tools.items) {
    await attempt(`tool ${name}`, async () => {
      const { isError, content } = await connection.callTool(name, sampleArguments(inputSchema), { signal });
      return isError ? content.flatMap((block) => textOfBlock(block) ?? []).join(' ') : undefined;
    });
  }
  for (const { name, arguments: taken } of offers.prompts.items) {
    await attempt(`prompt ${name}`, async () => {
      await connection.getPrompt(name, Object.fromEntries(taken.map((argument) => [argument.name, 'test'])), {
        signal,
      });
      return undefined;
    });
  }
  for (const { uri } of offers.resources.items) {
    await attempt(`resource ${uri}`, async () => {
      await connection.readResource(uri, { signal });
      return undefined;
    });
  }
  return trials;
}

/** Arguments a tool should take: what its schema gives as default, example or first choice, else something of the type. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const sample = sampleOf({ ...schema, type: 'object' }, 0);
  return isObject(sample) ? sample : {};
}

function sampleOf(schema: JsonObject, depth: number): JsonValue {
  const { default: fallback, const: only, enum: choices, examples, type, properties, items } = schema;
  const given = [fallback, only, isList(examples) ? examples[0] : undefined, isList(choices) ? choices[0] : undefined];
  const first = given.find((value) => value !== undefined);
  if (first !== undefined) return first;
  switch (isList(type) ? type[0] : type) {
    case 'object':
      return depth >= MAX_DEPTH || !isObject(properties) ? {} : sampleObject(schema, properties, depth);
    case 'array':
      return isObject(items) && depth < MAX_DEPTH ? [sampleOf(items, depth + 1)] : [];
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

function sampleObject({ required }: JsonObject, properties: JsonObject, depth: number): JsonObject {
  const needed = isList(required) ? required : [];
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => needed.includes(name) || depth === 0)
      .map(([name, value]) => [name, sampleOf(isObject(value) ? value : {}, depth + 1)]),
  );
}

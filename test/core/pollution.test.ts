import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseChunk } from '../../src/api/chunk.ts';
import { tryParseGoogleError } from '../../src/api/google-error.ts';
import { tryParseOauthFile } from '../../src/auth/token.ts';
import { expandDocument, parseSettingsText } from '../../src/config/document.ts';
import { mergeDocuments } from '../../src/config/layer.ts';
import { readTrustedFolders, readTrustFile } from '../../src/config/trust.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { parseArguments } from '../../src/core/schema.ts';
import { tryParseJobRecord } from '../../src/jobs/record.ts';
import { parseDefinition } from '../../src/mcp/client/definition.ts';
import { tryParseCallResult, tryParseTool } from '../../src/mcp/client/parse.ts';
import { toUsableSchema } from '../../src/mcp/client/tools/schema.ts';
import { parseMessage } from '../../src/mcp/wire/message.ts';
import { tryParseOfficial } from '../../src/session/official.ts';
import { defineTool, succeed } from '../../src/tools/define.ts';
import { temporary } from '../support/temporary.ts';

const echo = defineTool({
  name: 'echo',
  set: 'read',
  about: 'echoes',
  description: 'Says what it got.',
  effect: 'read',
  input: { properties: { text: { type: 'string', description: 't' } }, required: [] },
  handle: () => ({ run: async (input) => succeed({ ...input }) }),
}).create({});

const SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string', description: 't' } },
  required: [],
} as const;
const parsed = (text: string): JsonObject => JSON.parse(text);

/** Every place where somebody else's JSON comes in. */
const PLACES: Readonly<Record<string, (text: string, file: string) => unknown>> = {
  'arguments of a tool': (text) => echo.invoke(parsed(text), new AbortController().signal),
  'an event of the model': (text) => parseChunk(parsed(text)),
  'an error of the service': (text) => tryParseGoogleError(parsed(text)),
  'a sign-in': (text) => tryParseOauthFile(parsed(text), 0),
  settings: async (text, file) =>
    mergeDocuments([{ model: { name: 'x' } }, await expandDocument(await parseSettingsText({ file, text }), text, {})]),
  'settings with comments': async (text, file) =>
    mergeDocuments([await parseSettingsText({ file, text: `// x\n${text}` }), {}]),
  'the list of trust': (_, file) => readTrustFile(file),
  'the official list of trust': (_, file) => readTrustedFolders(file),
  'an MCP server in the settings': (text) => parseDefinition(parsed(text)),
  'a tool of an MCP server': (text) => toUsableSchema(tryParseTool(parsed(text))?.inputSchema ?? parsed(text)),
  'a result of an MCP server': (text) => tryParseCallResult(parsed(text)),
  'a message to our server': (text) => parseMessage(text),
  'arguments to our server': (text) => parseArguments(SCHEMA, parsed(text)),
  'a job': (text) => tryParseJobRecord(parsed(text)),
  'a session of the official CLI': (text) => tryParseOfficial(text),
};

const KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '0'];
const EVIL = '{"polluted":true,"prototype":{"polluted":true},"toString":1}';

/** Each key at the top, below keys that are read, in a list, twice, and beside good ones. */
const PAYLOADS = KEYS.flatMap((key) => [
  `{"${key}":${EVIL}}`,
  `{"candidates":[{"${key}":${EVIL},"content":{"${key}":${EVIL}}}],"error":{"${key}":${EVIL}},"mcpServers":{"${key}":${EVIL}}}`,
  `{"name":"x","inputSchema":{"type":"object","properties":{"${key}":${EVIL}}},"content":[{"type":"text","${key}":${EVIL}}]}`,
  `{"${key}":${EVIL},"${key}":${EVIL},"text":"x","model":{"${key}":${EVIL}}}`,
  `{"jsonrpc":"2.0","id":1,"method":"x","params":{"${key}":${EVIL}},"status":"running","${key}":[${EVIL}]}`,
]);

test.for(Object.keys(PLACES))('no key of an object’s making does anything in %s', async (name) => {
  expect(PAYLOADS).toHaveLength(30);
  const directory = temporary();
  const before = Reflect.ownKeys(Object.prototype);
  for (const payload of PAYLOADS) {
    const file = join(directory, 'x.json');
    writeFileSync(file, payload);
    const result: unknown = await (async () => PLACES[name]?.(payload, file))().catch((thrown: Error) => thrown.name);
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
    expect(Reflect.get({}, 'polluted'), payload).toBeUndefined();
    // Neither what was made of it has inherited anything.
    expect(inherited(result), payload).toEqual([]);
  }
});

/** Objects in a value whose prototype is none of the language's own. */
function inherited(value: unknown): readonly object[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = [Object.prototype, Array.prototype, Map.prototype, Set.prototype, null];
  const here = own.includes(Object.getPrototypeOf(value)) ? [] : [value];
  return [...here, ...Object.values(value).flatMap(inherited)];
}

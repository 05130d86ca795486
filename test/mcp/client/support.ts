import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { connectServer } from '../../../src/mcp/client/connect.ts';
import { type NamedServer, parseDefinition } from '../../../src/mcp/client/definition.ts';
import type { ClientContext } from '../../../src/mcp/client/types.ts';
import { systemClock } from '../../../src/platform/runtime/clock.ts';
import { parseLines, place } from '../../support/gmn.ts';

export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
}

/** A context to connect from, and what was traced. */
export function surroundings(t: TestContext, more: Partial<ClientContext> = {}) {
  const { root, home, cwd, env } = place(t);
  const context: ClientContext = {
    env,
    cwd,
    version: '0.0.0',
    clock: systemClock,
    homes: () => ({ gmn: join(home, '.gmn'), gemini: join(home, '.gemini') }),
    onExit: () => () => {},
    trace: () => {},
    httpTimers: { connectMs: 5000, headersMs: 5000, idleMs: 5000 },
    ...more,
  };
  const log = join(root, 'messages');
  const messages = (): readonly JsonObject[] => (existsSync(log) ? parseLines(readFileSync(log, 'utf8')) : []);
  return { context, root, log, messages };
}

/** From an entry of `mcpServers`. */
export function server(entry: JsonObject, name = 'fixture'): NamedServer {
  const definition = parseDefinition(entry);
  if (definition.kind === 'fault') throw new Error(definition.why);
  return { name, definition };
}

export function goodServer(entry: JsonObject = {}): NamedServer {
  return server({ command: process.execPath, args: [fixture('mcp-server.mjs')], ...entry });
}

/** Closed with the test. */
export async function connected(t: TestContext, entry: JsonObject = {}, more: Partial<ClientContext> = {}) {
  const around = surroundings(t, more);
  const named = goodServer({ ...entry, env: { GMN_TEST_LOG: around.log, ...envOf(entry) } });
  const connection = await connectServer(named, around.context, new AbortController().signal);
  t.onTestFinished(() => connection.close());
  return { connection, ...around };
}

function envOf({ env }: JsonObject): JsonObject {
  return typeof env === 'object' && env !== null && !Array.isArray(env) ? (env as JsonObject) : {};
}

/** Rejects if the work does not fail with an AppError. */
export async function faultOf(work: Promise<unknown>): Promise<AppError> {
  const thrown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(thrown).toBeInstanceOf(AppError);
  return thrown as AppError;
}

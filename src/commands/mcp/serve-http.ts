import type { App } from '../../core/app.ts';
import { AppError } from '../../core/error.ts';
import { loadSdk, loadSdkHttp } from '../../mcp/server/lazy.ts';
import { closeService } from '../../mcp/server/service.ts';
import type { Service } from '../../mcp/server/tool.ts';
import { httpService } from '../../mcp/server/transport/http.ts';
import { createFile, readFileState } from '../../platform/files/write.ts';
import { randomToken } from '../../platform/runtime/random-id.ts';

export interface HttpFlags {
  readonly http?: number | true;
  readonly tokenFile?: string;
}

const SHORTEST = 16;

/**
 * Serves MCP over HTTP on this machine until a signal ends it, and returns that signal's exit code. Throws AppError.
 */
export async function serveHttp(service: Service, options: HttpFlags, app: App): Promise<number> {
  const port = options.http === true || options.http === undefined ? 0 : options.http;
  if (port < 0 || port > 65_535)
    throw new AppError('usage', `--http ${port} is not a port`, { hint: 'Use 1 to 65535.' });
  const { token, shown } = await tokenFor(options, app);
  const server = await httpService({ ...(await loadSdk()), ...(await loadSdkHttp()) }, service, {
    port,
    token,
    trace: app.trace,
  });
  try {
    await app.io.err.write(`gmn: serving MCP on ${server.url}\ngmn: ${shown}\n`);
    await aborted(app.signal);
    return AppError.from(app.signal.reason).exitCode;
  } finally {
    await server.close();
    await closeService(service);
  }
}

/** The token that clients must send, and the text that tells the user about it. */
async function tokenFor(
  { tokenFile }: HttpFlags,
  { env }: App,
): Promise<{ readonly token: string; readonly shown: string }> {
  if (env.GMN_MCP_TOKEN)
    return { token: checked(env.GMN_MCP_TOKEN, 'GMN_MCP_TOKEN'), shown: 'token from GMN_MCP_TOKEN' };
  const token = randomToken();
  if (tokenFile === undefined) return { token, shown: `send the header Authorization: Bearer ${token}` };
  const outcome = await createFile(tokenFile, `${token}\n`);
  if (outcome === 'created') return { token, shown: `token written to ${tokenFile}` };
  const state = await readFileState(tokenFile);
  if (state.kind !== 'text') {
    throw new AppError('usage', `--token-file: cannot use ${tokenFile}`, { hint: 'Name a file that can be written.' });
  }
  if (!state.isOurs || (state.mode & 0o077) !== 0) {
    throw new AppError('usage', `--token-file: others can read ${tokenFile}`, { hint: `Run: chmod 600 ${tokenFile}` });
  }
  return { token: checked(state.text.trim(), tokenFile), shown: `token from ${tokenFile}` };
}

function checked(token: string, source: string): string {
  if (token.length >= SHORTEST && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new AppError('config', `${source}: a token has at least ${SHORTEST} visible characters`, {
    hint: 'Leave it out, and gmn makes one.',
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

import type { App } from '../../core/app.ts';
import { waitForAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { formatNotice } from '../../core/text/notice.ts';
import { closeMcpService } from '../../mcp/server/service.ts';
import type { Service } from '../../mcp/server/tool.ts';
import { openHttpService } from '../../mcp/server/transport/http.ts';
import { pathExists } from '../../platform/files/path.ts';
import { readFileState } from '../../platform/files/read.ts';
import { tryCreateExclusive } from '../../platform/files/write-sync.ts';
import { resolveWritingTarget } from '../../platform/files/writing-target.ts';
import { randomToken } from '../../platform/runtime/random-id.ts';

export interface HttpFlags {
  readonly http?: number | true;
  readonly tokenFile?: string;
}

const MIN_TOKEN_CHARS = 16;

export async function serveHttp(service: Service, options: HttpFlags, app: App): Promise<number> {
  const port = options.http === true || options.http === undefined ? 0 : options.http;
  if (port < 0 || port > 65_535)
    throw new AppError('usage', `--http ${port} is not a port`, { hint: 'Use 1 to 65535.' });
  const { token, notice } = await readToken(options, app);
  const [{ sdk }, { sdkHttp }] = await Promise.all([
    import('../../mcp/server/sdk.ts'),
    import('../../mcp/server/sdk-http.ts'),
  ]);
  const server = await openHttpService({ ...sdk, ...sdkHttp }, service, {
    port,
    token,
    trace: app.trace,
  });
  try {
    const { err } = app.io;
    await err.write(formatNotice(`serving MCP on ${server.url}`, err) + formatNotice(notice, err));
    await waitForAbort(app.signal);
    return AppError.from(app.signal.reason).exitCode;
  } finally {
    await server.close();
    await closeMcpService(service);
  }
}

async function readToken(
  { tokenFile }: HttpFlags,
  { env, cwd }: App,
): Promise<{ readonly token: string; readonly notice: string }> {
  if (env.GMN_MCP_TOKEN)
    return { token: checkToken(env.GMN_MCP_TOKEN, 'GMN_MCP_TOKEN'), notice: 'token from GMN_MCP_TOKEN' };
  const token = randomToken();
  if (tokenFile === undefined) return { token, notice: `send the header Authorization: Bearer ${token}` };
  // A file that exists is only read.
  const target = pathExists(tokenFile) ? tokenFile : resolveWritingTarget(tokenFile, cwd);
  const result = tryCreateExclusive(target, `${token}\n`);
  if (result === 'created') return { token, notice: `token written to ${tokenFile}` };
  const state = await readFileState(tokenFile);
  if (state.kind !== 'text') {
    throw new AppError('usage', `--token-file: cannot use ${tokenFile}`, { hint: 'Name a file that can be written.' });
  }
  if (!state.isOurs || (state.mode & 0o077) !== 0) {
    throw new AppError('usage', `--token-file: others can read ${tokenFile}`, { hint: `Run: chmod 600 ${tokenFile}` });
  }
  return { token: checkToken(state.text.trim(), tokenFile), notice: `token from ${tokenFile}` };
}

function checkToken(token: string, source: string): string {
  if (token.length >= MIN_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new AppError('config', `${source}: a token has at least ${MIN_TOKEN_CHARS} visible characters`, {
    hint: 'Leave it out, and gmn makes one.',
  });
}

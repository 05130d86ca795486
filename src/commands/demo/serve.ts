import { resolve } from 'node:path';
import type { App } from '../../core/app.ts';
import { waitForAbort } from '../../core/async.ts';
import { AppError } from '../../core/error.ts';
import { parseFaults } from '../../demo/fault.ts';
import { parseScript, type ScriptLine } from '../../demo/script.ts';
import { startDemo } from '../../demo/server.ts';
import { readBytes } from '../../platform/files/read.ts';

const SCRIPT_LIMIT_BYTES = 64_000_000;

interface DemoServeOptions {
  readonly port?: number;
  readonly script?: string;
  readonly fault?: readonly string[];
  readonly quiet?: boolean;
}

/**
 * Serves the demo model until a signal ends it; returns that signal's exit code. The first line of stdout is the
 * address. Throws AppError `usage` for an invalid port, script or fault before it listens.
 */
export async function run(options: DemoServeOptions, app: App): Promise<number> {
  const port = options.port ?? 0;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new AppError('usage', `--port ${port} is not a port`, { hint: 'Use 1 to 65535, or 0 for a free one.' });
  }
  const faults = parseFaults(options.fault ?? []);
  const script = options.script === undefined ? undefined : await readScript(options.script, app.cwd);
  const log = (line: string): void => {
    // A closed stderr must not stop the server.
    app.io.err.write(`${line}\n`).catch(() => undefined);
  };
  const server = await startDemo({
    port,
    faults,
    clock: app.clock,
    script,
    log: options.quiet ? undefined : log,
  });
  try {
    await app.io.out.write(
      `${server.url}\n` +
        `GEMINI_API_KEY=demo GOOGLE_GEMINI_BASE_URL=${server.url}\n` +
        `GOOGLE_GENAI_USE_GCA=true GOOGLE_CLOUD_ACCESS_TOKEN=demo CODE_ASSIST_ENDPOINT=${server.url}\n`,
    );
    await waitForAbort(app.signal);
    return AppError.from(app.signal.reason).exitCode;
  } finally {
    await server.close();
  }
}

async function readScript(path: string, cwd: string): Promise<readonly ScriptLine[]> {
  const bytes = await readBytes(resolve(cwd, path), {
    name: path,
    maxBytes: SCRIPT_LIMIT_BYTES,
    tooLarge: () => new AppError('usage', `${path} is larger than 64 MB`, { hint: 'Split the script.' }),
  });
  return parseScript(Buffer.from(bytes).toString('utf8'), path);
}

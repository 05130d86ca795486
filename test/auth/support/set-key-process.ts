// `gmn auth set-key` and nothing else.
import { run } from '../../../src/commands/auth/set-key.ts';
import { resolveHomes } from '../../../src/config/home.ts';
import { AppError } from '../../../src/core/error.ts';
import { createApp, processWorld } from '../../../src/platform/app.ts';
import { processIo } from '../../../src/platform/terminal/io.ts';

const { env } = process;
const io = processIo('never', env);
try {
  const app = await createApp({
    version: '0.0.0',
    env,
    flags: {},
    io,
    world: processWorld,
    secrets: [],
    findHomes: resolveHomes,
    loadSettings: async () => ({ env, notices: [] }),
  });
  process.exitCode = await run(process.argv[2] === '--stdin' ? { stdin: true } : {}, app);
} catch (thrown) {
  const error = AppError.from(thrown);
  await io.err.write(`Error: ${error.message}\n${error.hint ?? ''}\n`);
  process.exitCode = error.exitCode;
}

import { equal, match } from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cleanEnv, runNode } from '../processes.mjs';

const HELLO = 'Hello! How can I help you today?';

/** The official Gemini CLI with `gmn mcp serve` as one of its servers; the model does as it is told, on both sides. */
export async function geminiCli({ caches, scratch, served, model, row }) {
  const bundle = join(caches.gemini, 'node_modules', '@google', 'gemini-cli');
  const { version } = JSON.parse(readFileSync(join(bundle, 'package.json'), 'utf8'));
  const home = join(scratch, 'gemini');
  const cwd = join(scratch, 'work');
  mkdirSync(join(home, '.gemini'), { recursive: true });
  const [command, ...args] = served.stdio;
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    mcpServers: { gmn: { command, args, env: { HOME: home }, trust: true } },
  };
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
  const preload = fileURLToPath(new URL('../offline-google.mjs', import.meta.url));
  const env = cleanEnv(home, {
    GEMINI_API_KEY: 'x',
    GOOGLE_GEMINI_BASE_URL: model,
    NODE_OPTIONS: `--import=${pathToFileURL(preload).href}`,
  });
  const ask = async (prompt) => {
    const line = [
      join(bundle, 'bundle', 'gemini.js'),
      '-m',
      'gemini-2.5-flash',
      '--skip-trust',
      '-o',
      'stream-json',
      '-p',
      prompt,
    ];
    const { exitCode, out, errors } = await runNode(line, { cwd, env });
    equal(exitCode, 0, errors);
    return out;
  };
  const called = (tool, given) => ask(`call mcp_gmn_${tool} ${JSON.stringify(given)}`);
  const check = (what, run) => row(`gemini-cli ${version}`, 'stdio', what, run);
  await check('its model calls generate_text', async () =>
    match(await called('generate_text', { prompt: 'Hello' }), new RegExp(HELLO.replace('?', '\\?'))),
  );
  await check('its model delegates', async () =>
    match(await called('delegate', { prompt: 'Hello' }), /Hello! How can I/),
  );
  await check('an argument that it adds for itself does no harm', async () =>
    match(await called('delegate', { prompt: 'Hello', wait_for_previous: true }), /Hello! How can I/),
  );
  await check('Gemini behind it reads a file', async () => {
    const prompt = 'call read_file {"file_path":"notes.txt"}';
    match(await called('chat', { prompt }), /hello from a file/);
  });
  await check('a refusal reaches its model', async () =>
    match(await called('delegate', { prompt: 'x', working_directory: '/' }), /INVALID_DIRECTORY/),
  );
}

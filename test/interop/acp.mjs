// `npm run test:acp [-- --allow-skip]`: `gmn acp`, with the offline model, behind acpx, a client of the Agent Client Protocol without a screen.
// acpx needs Node 22, which comes from npm; both are kept in a cache outside the tree.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { cacheDirectory, fetchPackage } from '../peers/fetch.mjs';
import { peerVersion, requirePeers } from '../peers/install.mjs';
import { cleanEnv, runProgram } from './processes.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags } = parseArgs({
  options: { 'allow-skip': { type: 'boolean' }, gmn: { type: 'string', default: join(root, 'bin', 'gmn.js') } },
});
if (process.platform !== 'linux') {
  console.log('skipped: the package of Node 22 is for Linux');
  process.exit(flags['allow-skip'] ? 0 : 1);
}
const cache = requirePeers('editors', 'acpx', { isSkipAllowed: flags['allow-skip'] });
const node22 = fetchPackage(cacheDirectory('gmn-node'), `node-linux-${process.arch}@22.23.3`, join('bin', 'node'));
const acpx = join(cache, 'node_modules', 'acpx', 'dist', 'cli.js');
if (!existsSync(join(root, 'dist', 'boot.js'))) spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')]);

const scratch = mkdtempSync(join(tmpdir(), 'gmn-acp-'));
const [work, home] = [join(scratch, 'work'), join(scratch, 'home')];
mkdirSync(work);
mkdirSync(home);
writeFileSync(join(work, 'a.txt'), 'one\n');
const env = cleanEnv(home);
const agent = `${process.execPath} ${flags.gmn} acp --demo`;
const run = (...args) => runProgram(node22, [acpx, '--agent', agent, '--ttl', '60', ...args], { cwd: work, env });
const rows = [];
const check = async (what, args, isRight) => {
  const result = await run(...args);
  const ok = await isRight(result);
  rows.push({ what, ok, detail: ok ? '' : `${result.exitCode}: ${result.out}${result.errors}`.slice(-2000) });
};
const call = (name, args) => `call ${name} ${JSON.stringify(args)}`;
const read = (name) => (existsSync(join(work, name)) ? readFileSync(join(work, name), 'utf8') : undefined);
const LONG = 'echo > started; sleep 60';
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const WRITE = call('write_file', { file_path: 'new.txt', content: 'made\n' });

async function waitForFile(name) {
  try {
    for await (const _ of watch(work, { signal: AbortSignal.timeout(60_000) })) if (read(name) !== undefined) return;
  } catch {
    // The check that follows says what is wrong.
  }
}

try {
  const strict = ['--format', 'json', '--json-strict'];
  await check(
    'a prompt',
    ['exec', 'hello'],
    ({ exitCode, out }) => exitCode === 0 && out.includes('Hello! How can I help you today?'),
  );
  await check('every line is a message', [...strict, 'exec', 'hello'], ({ out }) =>
    out
      .trim()
      .split('\n')
      .every((line) => JSON.parse(line).jsonrpc === '2.0'),
  );
  await check('a change is refused', ['--deny-all', 'exec', WRITE], () => read('new.txt') === undefined);
  await check(
    'a change is made through the files of the client',
    ['--approve-all', 'exec', WRITE],
    ({ out }) => read('new.txt') === 'made\n' && out.includes('diff '),
  );
  await check(
    'the same on disk',
    ['--approve-all', '--no-fs', 'exec', WRITE.replaceAll('new', 'own')],
    () => read('own.txt') === 'made\n',
  );
  const command = call('run_shell_command', { command: 'echo from-a-terminal' });
  await check(
    'a command in a terminal of the client',
    ['--approve-all', 'exec', command],
    ({ out }) => out.includes('[terminal]') && out.includes('answered: from-a-terminal'),
  );
  await check('the same without one', ['--approve-all', '--no-terminal', 'exec', command], ({ out }) =>
    out.includes('answered: from-a-terminal'),
  );
  const uri = (name) => pathToFileURL(join(work, name)).href;
  const blocks = [
    { type: 'text', text: 'look at ' },
    { type: 'image', mimeType: 'image/png', data: PNG },
    { type: 'resource_link', uri: uri('a.txt'), name: 'a.txt' },
    { type: 'resource', resource: { uri: uri('b.txt'), text: 'not saved' } },
  ];
  writeFileSync(join(scratch, 'blocks.json'), JSON.stringify(blocks));
  await check('an image, a link and a resource', ['exec', '-f', join(scratch, 'blocks.json')], ({ out }) =>
    out.includes('1 image (image/png, 70 B): look at a.txtb.txt'),
  );
  await check('a model is chosen', ['--model', 'gemini-2.5-pro', 'exec', 'hello'], ({ exitCode }) => exitCode === 0);
  await check('a session is opened', ['sessions', 'new'], ({ exitCode }) => exitCode === 0);
  await check('and asked', ['prompt', 'hello'], ({ exitCode }) => exitCode === 0);
  await check('and listed', ['sessions', 'list'], ({ out }) => /^\S+\thello\t/m.test(out));
  await check('its mode is set', ['set-mode', 'plan'], ({ out }) => out.includes('plan'));
  await check('its options are set', ['set', 'thinking', 'low'], ({ exitCode }) => exitCode === 0);
  await check('and shown', ['status'], ({ out }) => out.includes('mode: plan'));
  const { out: status } = await run('status');
  const pid = Number(/^pid: (\d+)$/m.exec(status)?.[1]);
  if (pid > 0) process.kill(pid, 'SIGKILL');
  await check(
    'after kill -9 the session is loaded and goes on',
    ['prompt', 'hello again'],
    ({ exitCode, out }) => exitCode === 0 && out.includes('hello again'),
  );
  await run('set-mode', 'default');
  const long = run('--approve-all', '--no-terminal', 'prompt', call('run_shell_command', { command: LONG }));
  await waitForFile('started');
  await check('a command of it is cancelled', ['cancel'], async () => (await long).out.includes('[done] cancelled'));
  await check('and closed', ['sessions', 'close'], ({ exitCode }) => exitCode === 0);
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
}

for (const { what, ok, detail } of rows)
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${what}${ok ? '' : `\n      ${detail}`}`);
const date = new Date().toISOString().slice(0, 10);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const system = `${process.platform} ${process.arch}`;
const result = { date, gmn: version, node: process.version, system, acpx: peerVersion('acpx'), rows };
writeFileSync(join(root, 'docs', 'dev', 'results', `acp-${date}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

// `npm run test:served [-- --allow-skip]`: `gmn mcp serve` with the clients of other people: the MCP inspector's CLI and the SDK's
// client, each in both eras and on both transports, the official Gemini CLI, Claude Code and Codex. The model is gmn's offline one.
// They come from ../../peers (served, clients and agents) and are installed into a cache outside the tree.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installPeers, requirePeers } from '../../peers/install.mjs';
import { cleanEnv, runNode } from '../processes.mjs';
import { agents } from './agents.mjs';
import { geminiCli } from './gemini-cli.mjs';
import { inspector } from './inspector.mjs';
import { sdkClient } from './sdk-client.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { values: flags } = parseArgs({
  options: { 'allow-skip': { type: 'boolean' }, gmn: { type: 'string', default: join(root, 'bin', 'gmn.js') } },
});
const TOKEN = 'the-token-of-this-test-run';
const caches = {
  own: requirePeers('served', 'the clients', { isSkipAllowed: flags['allow-skip'] }),
  gemini: requirePeers('clients', 'the official CLI', { isSkipAllowed: flags['allow-skip'] }),
};

/** They are large, and not for every system: the others are run without them. */
const agentCache = (() => {
  try {
    return installPeers('agents');
  } catch (thrown) {
    console.log(`skipped: Claude Code and Codex cannot be installed (${thrown.message})`);
    return undefined;
  }
})();

const scratch = mkdtempSync(join(tmpdir(), 'gmn-served-'));
const work = join(scratch, 'work');
const started = [];
const rows = [];
try {
  mkdirSync(work);
  writeFileSync(join(work, 'notes.txt'), 'hello from a file\n');
  const place = { cwd: work, env: cleanEnv(scratch) };
  const served = {
    stdio: [process.execPath, flags.gmn, 'mcp', 'serve', '--demo'],
    http: await startAndFind(['mcp', 'serve', '--demo', '--http'], /http:\S+/, { GMN_MCP_TOKEN: TOKEN }),
    token: TOKEN,
    tools: await listServedTools(place),
  };
  const model = await startAndFind(['demo', 'serve', '--port', '0'], /http:\S+/, {});
  const context = { caches, served, place, scratch, model, gmn: flags.gmn, row };
  await inspector(context);
  await sdkClient(context);
  await geminiCli(context);
  if (agentCache !== undefined) await agents({ ...context, agentCache });
} finally {
  await Promise.all(started.map(ended));
  rmSync(scratch, { recursive: true, force: true });
}
report();

/** Their names as the line itself has them: a client may leave none of them out. */
async function listServedTools(place) {
  const ask = (id, method) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params: {} })}\n`;
  const stdin = ask(1, 'initialize') + ask(2, 'tools/list');
  const { out, errors } = await runNode([flags.gmn, 'mcp', 'serve', '--demo'], { ...place, stdin });
  const answer = out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .find(({ id }) => id === 2);
  if (answer?.result === undefined) throw new Error(`gmn mcp serve lists no tools: ${out}${errors}`);
  return answer.result.tools.map(({ name }) => name);
}
const isWhole = agentCache !== undefined || flags['allow-skip'];
process.exitCode = isWhole && rows.length > 0 && rows.every(({ ok }) => ok) ? 0 : 1;

/** Notes what came of one thing; `check` says whether it is right, or throws. */
async function row(client, mode, what, check) {
  const detail = await Promise.resolve()
    .then(check)
    .then(
      () => '',
      (thrown) => String(thrown?.message ?? thrown).slice(0, 600),
    );
  const shown = detail.replaceAll(scratch, '<scratch>').replaceAll(root, '<gmn>/');
  rows.push({ client, mode, what, ok: detail === '', detail: shown });
  console.log(
    `${detail === '' ? 'ok  ' : 'FAIL'}  ${client}  ${mode}  ${what}${shown === '' ? '' : `\n      ${shown}`}`,
  );
}

/** Starts gmn and gives the first thing it says that is as wanted. */
function startAndFind(args, wanted, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [flags.gmn, ...args], { cwd: work, env: cleanEnv(scratch, env) });
    started.push(child);
    let output = '';
    const collect = (chunk) => {
      output += String(chunk);
      const [found] = wanted.exec(output) ?? [];
      if (found !== undefined && /\n/.test(output)) resolve(found);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('exit', (code) => reject(new Error(`gmn ${args.join(' ')} ended with ${code}: ${output}`)));
  });
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => {
    child.on('exit', resolve);
    child.kill('SIGTERM');
  });
}

function report() {
  const date = new Date().toISOString().slice(0, 10);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const result = { date, gmn: version, node: process.version, system: `${process.platform} ${process.arch}`, rows };
  writeFileSync(
    join(root, 'docs', 'dev', 'results', `served-${date}.json`),
    `${JSON.stringify(result, undefined, 2)}\n`,
  );
}

// `npm run test:mcp-servers [-- --allow-skip]`: MCP servers of other people, through gmn's own commands.
// They come from this folder's own lock file and are installed into a cache outside the tree.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installPeers } from '../install.mjs';
import { cleanEnv, runNode } from '../processes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    'allow-skip': { type: 'boolean' },
    gmn: { type: 'string', default: fileURLToPath(new URL('../../../bin/gmn.js', import.meta.url)) },
  },
});
const cache = (() => {
  try {
    return installPeers(here);
  } catch (thrown) {
    console.log(`skipped: the servers cannot be installed (${thrown.message})`);
    process.exit(flags['allow-skip'] ? 0 : 1);
  }
})();

const scratch = mkdtempSync(join(tmpdir(), 'gmn-mcp-servers-'));
const work = join(scratch, 'work');
const everything = join(cache, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const bin = (name) => join(cache, 'node_modules', '.bin', name);
const started = [];
let failures = 0;
try {
  mkdirSync(work);
  writeFileSync(join(work, 'hello.txt'), 'hello from a file\n');
  const servers = {
    everything: { command: bin('mcp-server-everything'), args: ['stdio'] },
    http: { url: `http://127.0.0.1:${await serve('streamableHttp')}/mcp` },
    sse: { url: `http://127.0.0.1:${await serve('sse')}/sse` },
    files: { command: bin('mcp-server-filesystem'), args: [work] },
    memory: { command: bin('mcp-server-memory'), env: { MEMORY_FILE_PATH: join(scratch, 'memory.jsonl') } },
    commands: { command: bin('mcp-server-commands') },
    git: { command: bin('git-mcp-server') },
  };
  mkdirSync(join(scratch, '.gemini'));
  writeFileSync(join(scratch, '.gemini', 'settings.json'), JSON.stringify({ mcpServers: servers }));
  await check(
    'all of them answer',
    ['mcp', 'list', '--check'],
    /everything[\s\S]*http[\s\S]*sse[\s\S]*files[\s\S]*git/,
  );
  for (const name of ['everything', 'http', 'sse']) {
    await check(`${name}: tools`, ['mcp', 'tools', name], /^\s*echo\b/m);
    await check(`${name}: call`, ['mcp', 'call', name, 'echo', 'message=hi'], /^Echo: hi$/m);
    await check(`${name}: structure`, ['mcp', 'call', name, 'get-sum', 'a=2', 'b=3'], /\b5\b/);
    await check(`${name}: read`, ['mcp', 'read', name, 'demo://resource/static/document/features.md'], /\w/);
    await check(`${name}: prompt`, ['mcp', 'prompt', name, 'args-prompt', 'city=Paris'], /Paris/);
  }
  await check(
    'files: call',
    ['mcp', 'call', 'files', 'read_text_file', `path=${join(work, 'hello.txt')}`],
    /hello from a file/,
  );
  await check('memory: call', ['mcp', 'call', 'memory', 'read_graph'], /entities/);
  await check('commands: an old revision', ['mcp', 'probe', bin('mcp-server-commands')], /2024-11-05/);
  await check('git: tools', ['mcp', 'tools', 'git'], /git_/);
  // The offline model does as it is told, so the whole loop runs: declared, approved, called, answered.
  const model = ['--demo', '--allowed-mcp-server-names', 'files', '-o', 'stream-json'];
  const reading = `call read_text_file ${JSON.stringify({ path: join(work, 'hello.txt') })}`;
  await check(
    'the model reads a file',
    [...model, '--allowed-tools', 'files__*', reading],
    /tool_result.*hello from a file/,
  );
  await check('the model is not let through unasked', [...model, reading], /tool_result.*was not run/);
  const left = leftovers();
  report('no process is left', left.length === 0, left.join(', '));
} finally {
  for (const child of started) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

async function check(what, args, wanted) {
  const { out, errors, exitCode } = await runNode([flags.gmn, ...args], { cwd: work, env: cleanEnv(scratch) });
  const isFine = exitCode === 0 && wanted.test(out);
  report(what, isFine, `exit ${exitCode}: ${(errors || out).trim().slice(0, 300)}`);
}

function report(what, isFine, detail) {
  if (!isFine) failures += 1;
  console.log(isFine ? `ok    ${what}` : `FAIL  ${what}: ${detail}`);
}

/** A port that was free a moment ago; the server itself takes none but a number. */
async function serve(kind) {
  const port = await new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const found = probe.address().port;
      probe.close(() => resolve(found));
    });
  });
  const child = spawn(process.execPath, [everything, kind], {
    env: { ...cleanEnv(scratch), PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => /listening|running|port/i.test(String(chunk)) && resolve());
    child.on('exit', (code) => reject(new Error(`the ${kind} server ended with ${code}`)));
  });
  child.stderr.resume();
  return port;
}

/** What gmn started and did not end: programs out of the cache, less the two that this script started. */
function leftovers() {
  const ours = new Set(started.map(({ pid }) => String(pid)));
  const numbers = (() => {
    try {
      return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && !ours.has(name));
    } catch {
      return [];
    }
  })();
  return numbers.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(cache);
    } catch {
      return false;
    }
  });
}

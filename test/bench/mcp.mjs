// gmn and MCP servers: eight at once beside the slowest alone, and what it costs to learn what they offer, asked and kept.
// Alone: node test/bench/mcp.mjs [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/project.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';

/** Eight servers must not take much longer than the slowest of them. */
const TOGETHER_BUDGET = 1.5;
/** Real ones take 100 to 820 ms to answer their greeting. */
const DELAYS_MS = [100, 200, 300, 400, 500, 600, 700, 800];

/** A program that answers after a while, and is otherwise in nobody's way. */
const PROGRAM = `
const delayMs = Number(process.argv[2]);
const answers = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } },
  'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const say = () => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] ?? {} }) + '\\n');
  if (id !== undefined) setTimeout(say, method === 'initialize' ? delayMs : 0);
}).on('close', () => process.exit());
`;

/** Measures in interleaved runs, prints the table, and returns its rows and what is over its budget. */
export async function benchMcp({ rounds, seed }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-mcp-'));
  const peer = await fakeServers();
  const random = mulberry(seed);
  try {
    const rows = [
      ...(await togetherRows(scratch, rounds, random)),
      ...(await discoveryRows(scratch, peer, rounds, random)),
    ];
    printTable(rows);
    return { rows, missed: rows.filter(({ isMissed }) => isMissed).map(({ work }) => work) };
  } finally {
    peer.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Wall time of a whole `mcp list --check`, from the start of gmn to the end of all programs. */
async function togetherRows(scratch, rounds, random) {
  const program = join(scratch, 'server.cjs');
  writeFileSync(program, PROGRAM);
  const servers = DELAYS_MS.map((ms) => [`after-${ms}`, { command: process.execPath, args: [program, String(ms)] }]);
  const check = (chosen) => gmn(place(scratch, Object.fromEntries(chosen)), ['mcp', 'list', '--check', '-q']);
  const slowest = {
    work: 'mcp list --check, the slowest of eight alone (800 ms)',
    run: check(servers.slice(-1)),
    ms: [],
  };
  const all = { work: 'mcp list --check, eight servers (100 to 800 ms)', run: check(servers), ms: [] };
  await measure([slowest, all], rounds, random);
  const ratio = median(all.ms) / median(slowest.ms);
  return [
    { work: slowest.work, ms: round1(median(slowest.ms)), isMissed: false },
    {
      work: all.work,
      ms: round1(median(all.ms)),
      ratio: round2(ratio),
      budget: TOGETHER_BUDGET,
      isMissed: ratio > TOGETHER_BUDGET,
    },
  ];
}

/** Asked: `mcp tools` of all. Kept: what a one-shot that names them pays before its request, and nothing is started. */
async function discoveryRows(scratch, peer, rounds, random) {
  const shapes = [
    ...[1, 10, 100].map((servers) => ({ servers, tools: 10 })),
    ...[100, 1000].map((tools) => ({ servers: 1, tools })),
  ];
  const subjects = shapes.flatMap(({ servers, tools }) => {
    const names = Array.from({ length: servers }, (_, index) => `s${index}`);
    const entries = names.map((name) => [name, { httpUrl: `${peer.url}/${tools}/${name}` }]);
    const home = place(scratch, Object.fromEntries(entries));
    const what = `${servers} ${servers === 1 ? 'server' : 'servers'}, ${tools} tools each`;
    const preview = ['--allowed-mcp-server-names', names.join(','), '--dry-run', '-q', 'x'];
    return [
      { work: `asked: ${what}`, run: gmn(home, ['mcp', 'tools', '--json']), ms: [] },
      { work: `kept: ${what}`, run: gmn(home, preview), ms: [] },
    ];
  });
  const without = { work: 'no servers', run: gmn(place(scratch, {}), ['--dry-run', 'x']), ms: [] };
  // The first run of each learns what is kept.
  for (const { run } of subjects) await run();
  await measure([without, ...subjects], rounds, random);
  const floor = median(without.ms);
  return [without, ...subjects].map(({ work, ms }) => ({
    work,
    ms: round1(median(ms)),
    added: round1(median(ms) - floor),
    isMissed: false,
  }));
}

async function measure(subjects, rounds, random) {
  for (let round = 0; round < rounds; round += 1) {
    for (const { run, ms } of shuffled(subjects, random)) ms.push(await run());
  }
}

let places = 0;

/** A home with these servers in its settings. */
function place(scratch, mcpServers) {
  places += 1;
  const home = join(scratch, `home-${places}`);
  mkdirSync(join(home, '.gemini'), { recursive: true });
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify({ mcpServers }));
  return home;
}

/** Runs gmn there and gives the time it took. Rejects if it failed. */
function gmn(home, args) {
  return async () => {
    const began = performance.now();
    const child = spawn(process.execPath, [join(root, 'bin', 'gmn.js'), ...args], {
      cwd: home,
      env: { PATH: process.env.PATH ?? '', HOME: home, GEMINI_API_KEY: 'bench' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [exitCode] = await once(child, 'exit');
    const took = performance.now() - began;
    if (exitCode !== 0) throw new Error(`gmn ${args.join(' ')} ended with ${exitCode}`);
    return took;
  };
}

/** As many servers as anybody asks for, at `/<number of tools>/<name>`. */
async function fakeServers() {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string', description: 'A path.' } },
    required: ['path'],
  };
  const toolsOf = (path) => {
    const [, count, name] = path.split('/');
    return Array.from({ length: Number(count) }, (_, index) => ({
      name: `${name}_tool_${index}`,
      description: 'Does something with a path, and says what came of it.',
      inputSchema: schema,
    }));
  };
  const answer = (method, path) => {
    if (method === 'tools/list') return { tools: toolsOf(path) };
    const serverInfo = { name: 'bench', version: '1' };
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = JSON.parse(text);
    if (id === undefined) return response.writeHead(202).end();
    const isKnown = method === 'initialize' || method === 'tools/list';
    const said = isKnown ? { result: answer(method, request.url) } : { error: { code: -32601, message: 'no' } };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function round1(value) {
  return Math.round(value * 10) / 10;
}

function round2(value) {
  return Math.round(value * 100) / 100;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { missed } = await benchMcp({ rounds: Number(process.argv[2] ?? 9), seed: 1 });
  for (const what of missed) console.log(`over budget: ${what}`);
  process.exitCode = missed.length > 0 ? 1 : 0;
}

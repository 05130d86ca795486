// gmn as an MCP server: start to tools/list beside bare Node, what a call adds to the model's own time, 100 calls at once, the
// list of up to 10,000 jobs, and a call beside one of a server that starts the official CLI for it.
// Alone: node test/bench/serve.mjs [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../scripts/project.mjs';
import { openLine, timed } from './mcp-line.mjs';
import { jobRows } from './serve-jobs.mjs';
import { peerRows } from './serve-peer.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';

const START_BUDGET = 4;
const ADDED_BUDGET_MS = 5;
const AT_ONCE = 100;
/** No model answers at once, and what is done while it thinks costs nobody anything. */
const THINKING_MS = 20;
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  modelVersion: 'gemini-3-pro-preview',
};

/**
 * Measures in one interleaved run, prints the table, and returns its rows and what is over its budget. `peers` is where the
 * official CLI is; without it, it is not measured, and `skip` is told so.
 */
export async function benchServe({ rounds, seed, peers, skip = () => {} }) {
  const scratch = mkdtempSync(join(tmpdir(), 'gmn-bench-serve-'));
  const model = await fakeModel();
  try {
    const rows = [
      ...(await startRows(scratch, rounds, mulberry(seed))),
      ...(await callRows(scratch, model, rounds * 10)),
      ...(await jobRows(scratch, rounds, (home) => openServer(scratch, home, {}))),
      ...(await besides({ scratch, model, peers, skip })),
    ];
    printTable(rows);
    return { rows, missed: rows.filter(({ isMissed }) => isMissed).map(({ work }) => work) };
  } finally {
    model.server.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function besides({ scratch, model, peers, skip }) {
  if (peers === undefined) {
    skip('a server that starts the official CLI for every call (that is not installed)');
    return [];
  }
  return peerRows({ scratch, peers, skip, model: keyFor(model), open: (home, env) => openServer(scratch, home, env) });
}

function keyFor({ url }) {
  return { GEMINI_API_KEY: 'bench', GOOGLE_GEMINI_BASE_URL: url };
}

async function startRows(scratch, rounds, random) {
  const subjects = [
    { work: 'node -e 0', run: bareNode, ms: [] },
    { work: 'mcp serve to tools/list, first start', run: () => toList(scratch, 'new'), ms: [] },
    { work: 'mcp serve to tools/list', run: () => toList(scratch, 'warm'), ms: [] },
  ];
  await toList(scratch, 'warm');
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of shuffled(subjects, random)) subject.ms.push(await subject.run());
  }
  const floor = median(subjects[0].ms);
  return subjects.map(({ work, ms }, index) => {
    const ratio = median(ms) / floor;
    return {
      work,
      ms: round1(median(ms)),
      ratio: round2(ratio),
      budget: index === 0 ? '' : START_BUDGET,
      isMissed: index > 0 && ratio > START_BUDGET,
    };
  });
}

async function bareNode() {
  const began = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { env: bareEnv(), stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}

let homes = 0;

async function toList(scratch, kind) {
  homes += 1;
  const home = join(scratch, kind === 'warm' ? 'warm' : `home-${homes}`);
  const began = performance.now();
  const server = openServer(scratch, home, {});
  await server.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  });
  const { tools } = await server.ask('tools/list', {});
  const took = performance.now() - began;
  if (tools.length !== 14) throw new Error(`${tools.length} tools were listed`);
  await server.close();
  return took;
}

async function callRows(scratch, model, calls) {
  const server = openServer(scratch, join(scratch, 'warm'), keyFor(model));
  await server.ask('initialize', {});
  const tool = (name) => () => server.call(name, { prompt: 'Hello' });
  const subjects = [
    { work: 'the model alone', run: () => direct(model.url), ms: [] },
    { work: 'generate_text', run: tool('generate_text'), ms: [] },
    { work: 'chat', run: tool('chat'), ms: [] },
    { work: 'delegate', run: tool('delegate'), ms: [] },
  ];
  for (const { run } of subjects) for (let warm = 0; warm < 20; warm += 1) await run();
  for (let call = 0; call < calls; call += 1) for (const { run, ms } of subjects) ms.push(await timed(run));
  const floor = median(subjects[0].ms);
  const atOnce = await timed(async () => {
    const results = await Promise.all(Array.from({ length: AT_ONCE }, tool('generate_text')));
    const failed = results.filter(({ content }) => content[0].text !== 'Hello.').length;
    if (failed > 0) throw new Error(`${failed} of ${AT_ONCE} calls at once failed`);
  });
  await server.close();
  const rows = subjects.map(({ work, ms }) => {
    const added = median(ms) - floor;
    return {
      work,
      ms: round1(median(ms)),
      added: round1(added),
      budget: ADDED_BUDGET_MS,
      isMissed: added > ADDED_BUDGET_MS,
    };
  });
  return [...rows, { work: `${AT_ONCE} calls at once`, ms: round1(atOnce), isMissed: false }];
}

function openServer(scratch, home, env) {
  const cwd = join(scratch, 'work');
  mkdirSync(cwd, { recursive: true });
  mkdirSync(home, { recursive: true });
  const args = [join(root, 'bin', 'gmn.js'), 'mcp', 'serve'];
  return openLine(args, { cwd, env: { ...bareEnv(), HOME: home, ...env } });
}

async function fakeModel() {
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${JSON.stringify(ANSWER)}\r\n\r\n`);
      }, THINKING_MS);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

function direct(url) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent: false }, (response) => response.resume().on('end', resolve));
    asked.on('error', reject).end('{}');
  });
}

function bareEnv() {
  return { PATH: process.env.PATH ?? '' };
}

function round1(value) {
  return Math.round(value * 10) / 10;
}

function round2(value) {
  return Math.round(value * 100) / 100;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { installPeers } = await import('../peers/install.mjs');
  const rounds = Number(process.argv[2] ?? 15);
  const { missed } = await benchServe({
    rounds,
    seed: 1,
    peers: installPeers('clients'),
    skip: (why) => console.log(`skipped: ${why}`),
  });
  for (const what of missed) console.log(`over budget: ${what}`);
  process.exitCode = missed.length > 0 ? 1 : 0;
}

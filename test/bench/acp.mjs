// gmn in an editor: start to the answer of `initialize` beside bare Node, how much later than the model an editor has the first token,
// and both beside the official CLI's `--acp`.
// Alone: node test/bench/acp.mjs [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openLine } from './mcp-line.mjs';
import { gmn, openPlace } from './processes.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';

const START_BUDGET = 4;
const ADDED_BUDGET_MS = 5;
const THINKING_MS = 20;
/** The official CLI takes seconds. */
const OFFICIAL_ROUNDS = 5;
const INITIALIZE = { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'bench', version: '1' } };

/** Measures in one interleaved run, prints the table, and returns its rows and what is over its budget. */
export async function benchAcp({ rounds, seed, peers, skip = () => {} }) {
  const place = openPlace('acp');
  const model = await fakeModel();
  const agents = [{ name: 'gmn acp', args: [gmn, 'acp'] }, ...(peers === undefined ? [] : [officialAgent(peers)])];
  if (peers === undefined) skip('the official CLI in an editor (it is not installed)');
  try {
    const rows = [
      ...(await startRows(agents, { place, model, rounds, random: mulberry(seed) })),
      ...(await tokenRows(agents, { place, model, rounds: rounds * 5, skip })),
    ];
    printTable(rows);
    return { rows, missed: rows.filter(({ isMissed }) => isMissed).map(({ work }) => work) };
  } finally {
    model.server.close();
    place.remove();
  }
}

function officialAgent(peers) {
  const program = join(peers, 'node_modules', '@google', 'gemini-cli', 'bundle', 'gemini.js');
  return {
    name: 'official CLI --acp',
    args: [program, '--acp', '-m', 'gemini-2.5-flash', '--skip-trust'],
    isOfficial: true,
  };
}

async function startRows(agents, { place, model, rounds, random }) {
  let homes = 0;
  const start = (agent, extra) => () => toInitialized(agent, place, model, extra());
  const own = agents[0];
  const firstHome = () => {
    homes += 1;
    const home = join(place.directory, `first-${homes}`);
    mkdirSync(home);
    return { GMN_HOME: home };
  };
  const subjects = [
    { work: 'node -e 0', run: () => bareNode(place), ms: [] },
    { work: 'gmn acp to initialize, first start', run: start(own, firstHome), ms: [], budget: START_BUDGET },
    ...agents.map((agent) => ({
      work: `${agent.name} to initialize`,
      run: start(agent, () => ({})),
      ms: [],
      budget: agent.isOfficial ? '' : START_BUDGET,
      rounds: agent.isOfficial ? OFFICIAL_ROUNDS : rounds,
    })),
  ];
  for (const { run } of subjects) await run();
  for (let round = 0; round < rounds; round += 1) {
    for (const { run, ms, rounds: most = rounds } of shuffled(subjects, random)) if (round < most) ms.push(await run());
  }
  const floor = median(subjects[0].ms);
  return subjects.map(({ work, ms, budget = '' }) => {
    const ratio = Math.round((median(ms) / floor) * 100) / 100;
    return { work, ms: round1(median(ms)), ratio, budget, isMissed: budget !== '' && ratio > budget };
  });
}

async function bareNode({ directory }) {
  const began = performance.now();
  const env = { PATH: process.env.PATH ?? '' };
  await once(spawn(process.execPath, ['-e', '0'], { cwd: directory, env, stdio: 'ignore' }), 'exit');
  return performance.now() - began;
}

async function toInitialized({ args }, place, model, extra) {
  const began = performance.now();
  const line = openLine(args, { cwd: place.directory, env: place.env(model.url, extra), errors: 'ignore' });
  await line.ask('initialize', INITIALIZE);
  const took = performance.now() - began;
  const ended = line.close();
  line.kill();
  await ended;
  return took;
}

/** From the model's first byte to the editor, in a session that has answered before; and from the prompt on. */
async function tokenRows(agents, { place, model, rounds, skip }) {
  const rows = [];
  for (const agent of agents) {
    try {
      const times = await firstTokens(agent, { place, model, rounds: agent.isOfficial ? OFFICIAL_ROUNDS : rounds });
      const added = round1(median(times.map(({ afterModel }) => afterModel)));
      const whole = round1(median(times.map(({ afterPrompt }) => afterPrompt)));
      const budget = agent.isOfficial ? '' : ADDED_BUDGET_MS;
      const work = `${agent.name}: first token after the model's`;
      rows.push({ work, ms: whole, added, budget, isMissed: budget !== '' && added > budget });
    } catch (thrown) {
      skip(`${agent.name}: its answers (${thrown.message})`);
    }
  }
  return rows;
}

async function firstTokens({ args }, { place, model, rounds }) {
  let onToken = () => {};
  const line = openLine(args, {
    ...{ cwd: place.directory, env: place.env(model.url), errors: 'ignore' },
    onNotification: ({ update }) => update?.sessionUpdate === 'agent_message_chunk' && onToken(performance.now()),
  });
  try {
    await line.ask('initialize', INITIALIZE);
    const { sessionId } = await line.ask('session/new', { cwd: place.directory, mcpServers: [] });
    const times = [];
    for (let round = 0; round <= rounds; round += 1) {
      const token = new Promise((resolve) => {
        onToken = resolve;
      });
      const began = performance.now();
      const asked = line.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Hello' }] });
      const at = await Promise.race([token, asked.then(() => token)]);
      await asked;
      // The first only warms up.
      if (round > 0) times.push({ afterModel: at - model.sentAt(), afterPrompt: at - began });
    }
    return times;
  } finally {
    const ended = line.close();
    line.kill();
    await ended;
  }
}

async function fakeModel() {
  let sent = 0;
  const event = (text, rest = {}) => {
    const candidates = [{ content: { role: 'model', parts: [{ text }] }, ...rest }];
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    return `data: ${JSON.stringify({ candidates, usageMetadata, modelVersion: 'gemini-2.5-flash' })}\r\n\r\n`;
  };
  const server = createServer((incoming, response) => {
    incoming.resume().on('end', () => {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        sent = performance.now();
        response.write(event('Hello.'));
        response.end(event('', { finishReason: 'STOP' }));
      }, THINKING_MS);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${server.address().port}`, sentAt: () => sent };
}

function round1(value) {
  return Math.round(value * 10) / 10;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { installPeers } = await import('../peers/install.mjs');
  const skip = (why) => console.log(`skipped: ${why}`);
  const { missed } = await benchAcp({
    rounds: Number(process.argv[2] ?? 15),
    seed: 1,
    peers: installPeers('clients'),
    skip,
  });
  for (const what of missed) console.log(`over budget: ${what}`);
  process.exitCode = missed.length > 0 ? 1 : 0;
}

// The line to Google: TLS through a relay that holds every byte for half a round trip each way. How many connections a turn
// of many calls, a prompt with late stdin, a chat and a server make, and how long they take.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { makeCertificate } from './certificate.mjs';
import { openLine, timed } from './mcp-line.mjs';
import { gmn, openPlace, openServer, ran } from './processes.mjs';
import { openRelay } from './relay.mjs';
import { median, mulberry, printTable, shuffled } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

const ROUND_TRIPS_MS = [60, 150];
const TOOL_CALLS = 12;
const MODEL_CALLS = TOOL_CALLS + 1;
/** For TLS, above one round trip per call. */
const SETUP_ROUND_TRIPS = 1.3;
const WORK_PER_CALL_MS = 8;
const LATE_ROUND_TRIPS = 1.3;

const START = 'a turn of one call';
const TURN = `a turn of ${MODEL_CALLS} calls`;
const LATE_STDIN = 'stdin that ends late, to the first byte';
const CHAT = 'second turn of a chat';
const SERVE = 'second call of mcp serve';

/** Measures in one interleaved run, prints the table, and returns its rows and verdicts. */
export async function benchLine({ rounds, seed, skip }) {
  const place = openPlace('line');
  const certificate = makeCertificate(place.directory);
  if (certificate === undefined) {
    skip('the line to Google (no openssl to make a certificate with)');
    place.remove();
    return undefined;
  }
  const server = await openServer('line-server.mjs', [String(TOOL_CALLS), certificate.key, certificate.certificate]);
  try {
    const subjects = [0, ...ROUND_TRIPS_MS].flatMap(subjectsOf);
    const random = mulberry(seed);
    for (let round = 0; round <= rounds; round += 1) {
      for (const subject of shuffled(subjects, random)) {
        // A relay for each run, so that the connections are this run's.
        const relay = await openRelay({ port: server.port, roundTripMs: subject.roundTripMs });
        try {
          const env = place.env(`https://127.0.0.1:${relay.port}`, certificate.trust);
          const run = await subject.run({ cwd: place.directory, env, relay });
          if (round > 0) subject.runs.push({ connections: relay.opened(), ...run });
        } finally {
          relay.close();
        }
      }
    }
    const rows = subjects.map(rowOf);
    printTable(rows);
    return { rows, verdicts: ROUND_TRIPS_MS.flatMap((roundTripMs) => verdictsOf(rows, roundTripMs)) };
  } finally {
    server.close();
    place.remove();
  }
}

function subjectsOf(roundTripMs) {
  const all = { [TURN]: runTurn, [LATE_STDIN]: runLateStdin, [CHAT]: runChat, [SERVE]: runServe };
  // The start that turns are measured from: no round trips, and no call of a tool.
  const start = { [START]: (run) => runTurn(run, ['-m', 'no-calls']), [TURN]: runTurn };
  return Object.entries(roundTripMs === 0 ? start : all).map(([work, run]) => ({ work, roundTripMs, run, runs: [] }));
}

async function runTurn({ cwd, env }, flags = []) {
  const { ms } = await ran({ args: [gmn, ...flags, '--tools', 'read', '--no-session', 'Read it.'], cwd, env });
  return { ms };
}

/** The prompt is complete a second after the start, when any handshake is over. */
async function runLateStdin({ cwd, env }) {
  const child = startGmn(['--no-session', 'Hello'], { cwd, env });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  child.stdin.end('late\n');
  const ms = await timed(() => child.said('Done.', 1));
  await child.ended;
  return { ms };
}

async function runChat({ cwd, env, relay }) {
  const child = startGmn(['chat', '--no-session'], { cwd, env });
  child.stdin.write('one\n');
  await child.said('Done.', 1);
  const before = relay.opened();
  child.stdin.write('two\n');
  const ms = await timed(() => child.said('Done.', 2));
  const connections = relay.opened() - before;
  child.stdin.end();
  await child.ended;
  return { ms, connections };
}

async function runServe({ cwd, env, relay }) {
  const server = openLine([gmn, 'mcp', 'serve'], { cwd, env });
  await server.ask('initialize', {});
  const call = () => server.call('generate_text', { prompt: 'Hello', model: 'gemini-2.5-flash' });
  await call();
  const before = relay.opened();
  const ms = await timed(call);
  const connections = relay.opened() - before;
  await server.close();
  return { ms, connections };
}

function startGmn(args, { cwd, env }) {
  const child = spawn(process.execPath, [gmn, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  let output = '';
  const watchers = new Set();
  child.stdout.on('data', (data) => {
    output += data;
    for (const watch of watchers) watch();
  });
  return {
    stdin: child.stdin,
    ended: once(child, 'exit'),
    /** When `word` has been written so many times. */
    said: (word, times) =>
      new Promise((resolve) => {
        const watch = () => {
          if (output.split(word).length <= times) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
      }),
  };
}

function rowOf({ work, roundTripMs, runs }) {
  return {
    work,
    'RTT ms': roundTripMs,
    'wall ms (median)': median(runs.map(({ ms }) => ms)),
    'wall ms (min)': Math.min(...runs.map(({ ms }) => ms)),
    connections: Math.max(...runs.map(({ connections }) => connections)),
  };
}

function verdictsOf(rows, roundTripMs) {
  const row = (work, rtt = roundTripMs) => rows.find((each) => each.work === work && each['RTT ms'] === rtt);
  const on = (work) => `${work}, RTT ${roundTripMs} ms`;
  const start = row(START, 0)['wall ms (median)'];
  const turn = row(TURN);
  const allowed = start + (MODEL_CALLS + SETUP_ROUND_TRIPS) * roundTripMs + WORK_PER_CALL_MS * MODEL_CALLS;
  const trips = row(LATE_STDIN)['wall ms (median)'] / roundTripMs;
  const count = (work, budget) =>
    verdict({ work: on(work), measured: row(work).connections, budget, unit: 'connections' });
  return [
    verdict({ work: `${on(TURN)}: wall`, measured: turn['wall ms (median)'], budget: allowed, unit: 'ms' }),
    count(TURN, 1),
    verdict({ work: on(LATE_STDIN), measured: trips, budget: LATE_ROUND_TRIPS, unit: 'x a round trip' }),
    count(CHAT, 0),
    count(SERVE, 0),
  ];
}

// A call of gmn beside one of a server that starts the official CLI for every call: gemini-mcp-tool, from ../peers/served.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installPeers } from '../peers/install.mjs';
import { openLine, timed } from './mcp-line.mjs';
import { median } from './statistics.mjs';

const ROUNDS = 5;
const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
};

/** The rows of both, in turns. `peers` is where the official CLI is; `skip` is told why there are none. */
export async function peerRows({ scratch, peers, model, open, skip }) {
  if (process.platform === 'win32') return none(skip, 'its programs are scripts of a Unix shell');
  let served;
  try {
    served = installPeers('served');
  } catch (thrown) {
    return none(skip, thrown.message);
  }
  const server = open(join(scratch, 'beside'), model);
  const spawning = openLine([join(served, 'node_modules', 'gemini-mcp-tool', 'dist', 'index.js')], {
    cwd: scratch,
    env: peerEnv(scratch, peers, model),
    errors: 'ignore',
  });
  try {
    for (const line of [server, spawning]) await line.ask('initialize', INITIALIZE);
    const subjects = [
      { work: 'delegate, beside it', run: () => server.call('delegate', { prompt: 'Hello' }), ms: [] },
      { work: 'gemini-mcp-tool: ask-gemini', run: () => spawning.call('ask-gemini', ASKED), ms: [] },
    ];
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const { run, ms } of subjects) {
        let result;
        const took = await timed(async () => {
          result = await run();
        });
        if (result.isError || !JSON.stringify(result.content).includes('Hello.'))
          return none(skip, `it did not answer: ${JSON.stringify(result).slice(0, 300)}`);
        if (round > 0) ms.push(took);
      }
    }
    const [own, other] = subjects.map(({ ms }) => median(ms));
    return subjects.map(({ work }, index) => ({
      work,
      ms: Math.round([own, other][index]),
      'x gmn': Math.round(([own, other][index] / own) * 10) / 10,
      isMissed: false,
    }));
  } finally {
    spawning.kill();
    await server.close();
  }
}

const ASKED = { prompt: 'Hello', model: 'gemini-2.5-flash' };

/** A home of its own, and the official CLI as `gemini`. */
function peerEnv(scratch, peers, model) {
  const home = join(scratch, 'peer');
  const bin = join(home, 'bin');
  mkdirSync(join(home, '.gemini'), { recursive: true });
  mkdirSync(bin);
  const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
  writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
  const program = join(peers, 'node_modules', '@google', 'gemini-cli', 'bundle', 'gemini.js');
  writeFileSync(join(bin, 'gemini'), `#!/bin/sh\nexec "${process.execPath}" "${program}" --skip-trust "$@"\n`);
  chmodSync(join(bin, 'gemini'), 0o755);
  return {
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    HOME: home,
    ...model,
    GEMINI_MCP_BACKEND: 'gemini',
  };
}

function none(skip, why) {
  skip(`a server that starts the official CLI for every call (${why})`);
  return [];
}

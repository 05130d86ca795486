// What a model is sent before the user's words, and with every call again: system prompt and declarations of tools, as they
// are in the request. Nothing is timed.
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gmn, openPlace, ran } from './processes.mjs';
import { printTable } from './statistics.mjs';
import { verdict } from './verdicts.mjs';

/** Bytes for each set of `--tools`. */
const BUDGETS = { edit: 6500, all: 8500 };

/**
 * Of pi (@earendil-works/pi-coding-agent 0.87.1), which needs a newer Node than gmn: measured once, on 2026-11-18 with Node 22, in the
 * same way, by `pi --provider google --model gemini-2.5-flash [--tools …] -p Hello`.
 */
const PI = [
  { work: 'pi 0.87.1', tools: 4, 'system prompt': 2650, declarations: 2784 },
  { work: 'pi 0.87.1 --tools, all of them', tools: 7, 'system prompt': 2754, declarations: 4851 },
];

/** Prints the table, and returns its rows and verdicts. `peers` is where the official CLI is installed, if it is. */
export async function benchStanding({ peers }) {
  const place = openPlace('standing');
  const server = await openRecorder();
  try {
    const env = place.env(server.url);
    // Above the home directory gmn offers no tool that writes.
    const cwd = join(place.directory, 'work');
    mkdirSync(cwd);
    const measure = async (work, args) => {
      await ran({ args, cwd, env });
      return { work, ...server.takeSizes() };
    };
    const own = [];
    for (const set of ['none', 'read', 'edit', 'all'])
      own.push(await measure(`gmn --tools ${set}`, [gmn, '--tools', set, 'Hello']));
    const official = [];
    for (const mode of peers === undefined ? [] : ['default', 'plan', 'yolo'])
      official.push(await measure(`official CLI, --approval-mode ${mode}`, officialArgs(peers, mode)));
    const rows = [...own, ...PI, ...official].map((row) => ({
      ...row,
      bytes: row['system prompt'] + row.declarations,
    }));
    printTable(rows);
    return { rows, verdicts: verdictsOf(rows) };
  } finally {
    server.close();
    place.remove();
  }
}

function officialArgs(peers, mode) {
  const program = join(peers, 'node_modules/@google/gemini-cli/bundle/gemini.js');
  return [program, '-m', 'gemini-2.5-flash', '--skip-trust', '--approval-mode', mode, '-p', 'Hello'];
}

function verdictsOf(rows) {
  return Object.entries(BUDGETS).map(([set, budget]) =>
    verdict({
      work: `standing cost of --tools ${set}`,
      measured: rows.find(({ work }) => work === `gmn --tools ${set}`).bytes,
      budget,
      unit: 'bytes',
    }),
  );
}

/** A server that says `Hi`, and keeps what the last request has before its contents. */
async function openRecorder() {
  let last = {};
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');
    if (body.contents !== undefined) last = body;
    const candidate = { content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const size = (value) => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    takeSizes() {
      const { systemInstruction, tools } = last;
      last = {};
      const count = (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations).length;
      return { tools: count, 'system prompt': size(systemInstruction), declarations: size(tools) };
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

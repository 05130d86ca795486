// `npm run test:mcp-servers [-- --allow-skip]`: MCP servers of other people, through gmn's own commands and through a scripted
// model, in one-shots and in a chat. They come from ../../peers/servers and are installed into a cache outside the tree.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requirePeers } from '../../peers/install.mjs';
import { cleanEnv, runNode } from '../processes.mjs';
import { scriptedModel } from './model.mjs';
import { openPeers } from './peers.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    'allow-skip': { type: 'boolean' },
    gmn: { type: 'string', default: join(root, 'bin', 'gmn.js') },
  },
});
const cache = requirePeers('servers', 'the servers', { isSkipAllowed: flags['allow-skip'] });

const scratch = mkdtempSync(join(tmpdir(), 'gmn-mcp-servers-'));
const work = join(scratch, 'work');
const hello = join(work, 'hello.txt');
const rows = [];
let peers;
try {
  makeWork();
  peers = await openPeers({ cache, scratch, work });
  mkdirSync(join(scratch, '.gemini'));
  writeFileSync(join(scratch, '.gemini', 'settings.json'), JSON.stringify({ mcpServers: peers.mcpServers }));
  await throughCommands();
  for (const server of Object.keys(scripts())) await throughOneShot(server, scripts()[server]);
  await throughChat();
  const left = peers.leftovers();
  report('no process is left', left.length === 0, left.join(', '));
} finally {
  peers?.stop();
  rmSync(scratch, { recursive: true, force: true });
}
write();
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

function makeWork() {
  mkdirSync(work);
  writeFileSync(hello, 'hello from a file\n');
  const git = (...args) => execFileSync('git', args, { cwd: work, env: cleanEnv(scratch), stdio: 'ignore' });
  git('init', '-b', 'main');
  git('config', 'user.email', 'ann@example.com');
  git('config', 'user.name', 'Ann');
  git('add', 'hello.txt');
  git('commit', '-m', 'the first of them');
}

async function throughCommands() {
  const all = Object.keys(peers.mcpServers);
  await check(
    'all of them answer',
    ['mcp', 'tools'],
    new RegExp(all.map((name) => `^${name}$`).join('[\\s\\S]*'), 'm'),
  );
  for (const name of ['everything', 'http', 'sse']) {
    await check(`${name}: tools`, ['mcp', 'tools', name], /^\s*echo\b/m);
    await check(`${name}: call`, ['mcp', 'call', name, 'echo', 'message=hi'], /^Echo: hi$/m);
    await check(`${name}: structure`, ['mcp', 'call', name, 'get-sum', 'a=2', 'b=3'], /\b5\b/);
    await check(`${name}: read`, ['mcp', 'read', name, 'demo://resource/static/document/features.md'], /\w/);
    await check(`${name}: prompt`, ['mcp', 'prompt', name, 'args-prompt', 'city=Paris'], /Paris/);
  }
  await check('files: call', ['mcp', 'call', 'files', 'read_text_file', `path=${hello}`], /hello from a file/);
  await check('memory: call', ['mcp', 'call', 'memory', 'read_graph'], /entities/);
  await check('memory: read', ['mcp', 'read', 'memory', 'memory://knowledge-graph'], /entities/);
  await check('commands: an old revision', ['mcp', 'probe', peers.commandsProgram], /2024-11-05/);
  await check('commands: call', ['mcp', 'call', 'commands', 'run_command', 'command=echo out'], /out/);
  await check('commands: prompt', ['mcp', 'prompt', 'commands', 'run_command', 'command=echo out'], /out/);
  for (const name of ['git', 'githttp']) {
    await check(`${name}: tools`, ['mcp', 'tools', name], /^git_status/m);
    await check(`${name}: call`, ['mcp', 'call', name, 'git_log', `path=${work}`], /the first of them/);
    await check(`${name}: prompt`, ['mcp', 'prompt', name, 'git_wrapup'], /git/i);
  }
}

/** What the model calls at each server, and what it must be told. */
function scripts() {
  const everything = [
    ['echo', { message: 'hi' }, /Echo: hi/],
    ['get-sum', { a: 2, b: 3 }, /\b5\b/],
    ['get-structured-content', { location: 'Chicago' }, /temperature/],
    ['get-tiny-image', {}, /image\/png.*attached/],
    ['get-resource-links', { count: 2 }, /resource demo:/],
    ['trigger-long-running-operation', { duration: 1, steps: 3 }, /completed/i],
    ['get-sum', { a: 'two' }, /invalid|expected/i],
  ];
  const git = [
    ['git_status', { path: work }, /main/],
    ['git_log', { path: work }, /the first of them/],
    ['git_show', { path: work, object: 'nothing' }, /error|fail|unknown/i],
  ];
  return {
    everything,
    http: everything,
    sse: everything,
    files: [
      ['read_text_file', { path: hello }, /hello from a file/],
      ['files__write_file', { path: join(work, 'new.txt'), content: 'written' }, /wrote/i],
      ['files__list_directory', { path: work }, /new\.txt/],
      ['read_text_file', { path: '/etc/passwd' }, /denied|outside/i],
    ],
    memory: [
      ['create_entities', { entities: [{ name: 'Ann', entityType: 'person', observations: ['likes tea'] }] }, /Ann/],
      ['search_nodes', { query: 'tea' }, /likes tea/],
    ],
    commands: [
      ['run_command', { command: 'echo from-a-command' }, /from-a-command/],
      ['run_command', { command: 'exit 3' }, /./],
    ],
    git,
    githttp: git,
  };
}

async function throughOneShot(server, script) {
  const model = await scriptedModel([script.map(([name, args]) => ({ name, args }))]);
  try {
    const args = ['--allowed-mcp-server-names', server, '--allowed-tools', `${server}__*`, '-p', 'go'];
    const { out, errors, exitCode } = await run(args, model.env);
    report(`${server}: a one-shot comes to its end`, exitCode === 0 && out === 'turn 1 done\n', errors || out);
    judge(`${server}: the model calls`, script, model);
  } finally {
    model.close();
  }
}

/** All servers at once, a turn for each; tools that several have are called by the name of the server, too. */
async function throughChat() {
  const turns = Object.entries(scripts()).map(([server, script]) => [
    server,
    script
      .slice(...(server === 'memory' ? [1] : [0, 2]))
      .map(([name, args, wanted]) => [nameInChat(server, name), args, wanted]),
  ]);
  const model = await scriptedModel(turns.map(([, script]) => script.map(([name, args]) => ({ name, args }))));
  try {
    const allowed = Object.keys(peers.mcpServers).map((name) => `${name}__*`);
    const args = ['chat', '--no-session', '--allowed-tools', allowed.join(',')];
    const lines = turns.map(([server]) => `use ${server}\n`).join('');
    const { out, errors, exitCode } = await run(args, model.env, `${lines}/exit\n`);
    const wanted = turns.map((_, index) => `turn ${index + 1} done\n`).join('');
    report('chat: every turn comes to its end', exitCode === 0 && out === wanted, errors || out);
    judge(
      'chat: the model calls',
      turns.flatMap(([, script]) => script),
      model,
    );
  } finally {
    model.close();
  }
}

/** The first server in the order of the settings keeps the bare names. */
function nameInChat(server, name) {
  return ['http', 'sse', 'githttp'].includes(server) ? `${server}__${name}` : name;
}

function judge(title, script, { declared, answers }) {
  for (const [index, [name, , wanted]] of script.entries()) {
    const told = JSON.stringify(answers[index] ?? null);
    const isFine = declared.has(name) && answers[index]?.name === name && wanted.test(told);
    report(`${title} ${name}`, isFine, `told ${told.slice(0, 300)}`);
  }
}

async function check(what, args, wanted) {
  const { out, errors, exitCode } = await run(args);
  const isFine = exitCode === 0 && wanted.test(out);
  report(what, isFine, `exit ${exitCode}: ${(errors || out).trim().slice(0, 300)}`);
}

function run(args, more, stdin) {
  const env = cleanEnv(scratch, more);
  return runNode([flags.gmn, ...args], { cwd: work, env, ...(stdin === undefined ? {} : { stdin }) });
}

function report(what, isFine, detail) {
  rows.push({ what, ok: isFine });
  console.log(isFine ? `ok    ${what}` : `FAIL  ${what}: ${String(detail).trim()}`);
}

function write() {
  const date = new Date().toISOString().slice(0, 10);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test', 'peers', 'servers', 'package.json'), 'utf8'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const system = `${process.platform} ${process.arch}`;
  const result = { date, gmn: version, node: process.version, system, servers: dependencies, rows };
  const directory = join(root, 'docs', 'dev', 'results');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `mcp-servers-${date}.json`), `${JSON.stringify(result, null, 2)}\n`);
  console.log(`${rows.filter(({ ok }) => ok).length} of ${rows.length}`);
}

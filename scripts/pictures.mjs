// Draws docs/pictures from real runs of the built program against its offline model: npm run pictures
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, root } from './project.mjs';
import { drawPicture, layOutScreen } from './terminal-picture.mjs';

const COLUMNS = 98;
const PROMPT = '\u001b[32m$\u001b[39m ';

ensureInstalled();
await import('./build.mjs');
const { spawn } = await import('@lydell/node-pty');
const place = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-pictures-')));
try {
  setUp();
  await draw('one-shots', 'gmn: one prompt, one answer', () =>
    shell([
      'gmn --demo "Hello"',
      'git diff | gmn --demo -f STYLE.md "review this change" -u',
      `gmn --demo --output-schema '{"type":"array","items":{"type":"string"}}' "3 colors"`,
      'gmn --demo -x "bash script that prints the date" --output-file now.sh',
      'gmn --demo --session-name trip "best month for Kyoto?"',
      'gmn --demo -c "and the second best?"',
    ]),
  );
  await draw('chat', 'gmn chat', chat);
  await draw('mistakes', 'gmn: what to do next', () =>
    shell(['gmn mpc list', 'gmn "hello"', 'gmn --demo -t 5x "hello"', 'gmn mcp call files read path=a']),
  );
} finally {
  rmSync(place, { recursive: true, force: true });
}

function setUp() {
  for (const name of ['bin', 'home', 'home/work']) mkdirSync(join(place, name));
  symlinkSync(join(root, 'bin', 'gmn.js'), join(place, 'bin', 'gmn'));
  const work = join(place, 'home', 'work');
  const git = (...args) => spawnSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd: work });
  writeFileSync(join(work, 'STYLE.md'), '- use const\n');
  writeFileSync(join(work, 'hello.js'), 'console.log("Hello");\n');
  writeFileSync(join(work, 'sum.ts'), 'export const sum = 0;\n');
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'x');
  writeFileSync(join(work, 'sum.ts'), 'export let sum = 1;\n');
}

async function shell(commands) {
  let output = '';
  for (const command of commands) {
    const { ended } = openTerminal('sh', ['-c', command]);
    output += `${PROMPT}\u001b[1m${command}\u001b[22m\r\n${await ended}`;
  }
  return output;
}

async function chat() {
  const { type, until, ended } = openTerminal('gmn', ['chat', '--demo', '--session-name', 'tour']);
  await until('❯ ');
  type('挨拶を日本語にして @hello.js\r');
  await until('uit turn');
  type('y');
  await until('変えました');
  await until('❯ ');
  type('write a very long story\r');
  // The rest of the row is not written again.
  await until('town');
  type('\u0003');
  await until('cancelled');
  type('/q\r');
  return ended;
}

/** Starts a program in a pseudo-terminal. `until` waits for a text after the last one it waited for. */
function openTerminal(program, args) {
  const env = {
    HOME: join(place, 'home'),
    PATH: `${join(place, 'bin')}:${process.env.PATH}`,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
  };
  const cwd = join(place, 'home', 'work');
  const pty = spawn(program === 'gmn' ? join(place, 'bin', 'gmn') : program, args, {
    cwd,
    env,
    cols: COLUMNS,
    rows: 60,
  });
  let output = '';
  let seen = 0;
  let wake = () => {};
  pty.onData((data) => {
    output += data;
    wake();
  });
  const ended = new Promise((resolve) => {
    pty.onExit(() => resolve(output));
  });
  return {
    type: (keys) => pty.write(keys),
    ended,
    async until(text) {
      for (;;) {
        const at = output.indexOf(text, seen);
        if (at !== -1) {
          seen = at + text.length;
          return;
        }
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

async function draw(name, title, run) {
  const rows = layOutScreen(await run(), COLUMNS);
  const file = join(root, 'docs', 'pictures', `${name}.svg`);
  mkdirSync(join(root, 'docs', 'pictures'), { recursive: true });
  writeFileSync(file, drawPicture(rows, { columns: COLUMNS, title }));
  process.stdout.write(`docs/pictures/${name}.svg\n`);
}

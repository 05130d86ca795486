import { fstatSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatTabAnswer, resolveTab } from './cli/completion/answer.ts';
import type { Env } from './core/io.ts';
import { openCodeCache } from './platform/runtime/code-cache.ts';
import { isStandalone } from './platform/runtime/system.ts';

/**
 * Set by the build: our version, the chunk that holds `main`, and the file that bundles the chunks of an ordinary run.
 */
declare const VERSION: string;
declare const MAIN_CHUNK: string;
declare const PACK: string;

/** The directory of the chunks, help texts and what completion needs; the build puts this file next to them. */
const DIST = __dirname;

/** gmn may be updated during a long run such as a chat, so its chunks are read by then. */
const LONG_RUN_MS = 2000;

/**
 * Answers `--version`, and `--help`, `help --json`, `completion` and most Tabs from what the build has made of the command table;
 * passes everything else to `main` and sets the exit code.
 */
export function boot(argv: readonly string[]): void {
  const text =
    argv.length === 1 && isVersionFlag(argv[0])
      ? `${VERSION}\n`
      : (findHelp(argv) ?? findDescription(argv) ?? findCompletion(argv));
  if (text !== undefined) {
    print(text);
    return;
  }
  if (argv[0] === '__complete') answerTab(argv.slice(1));
  else runMain(argv);
}

/** A person waits for it, so nothing is loaded unless the answer is a list that only files know. */
function answerTab(args: readonly string[]): void {
  const plan = readPrebuiltText('completion', 'plan.json');
  const request = plan === undefined ? undefined : resolveTab(args, JSON.parse(plan));
  if (request?.completion.list !== undefined) runMain(['__complete', JSON.stringify(request)]);
  else if (request !== undefined) print(formatTabAnswer(request, []));
}

function runMain(argv: readonly string[]): void {
  // Bun's sockets read nothing from a pipe: piped input would be lost silently. The executable reads it otherwise.
  if (process.versions.bun !== undefined && !isStandalone()) {
    refuse(process.versions.bun);
    return;
  }
  process.on('uncaughtException', (thrown) => crash(thrown));
  const cache = openCodeCache({ dist: DIST, pack: PACK, version: VERSION });
  setTimeout(cache.loadRemaining, LONG_RUN_MS).unref();
  const { main } = asMain(cache.load(MAIN_CHUNK));
  main(argv, process.env, VERSION).then(
    (exitCode) => {
      // A failed run compiled little of what a successful one needs.
      if (exitCode === 0) cache.save();
      // All output has been written; a regular exit would only tear down the heap.
      process.exit(exitCode);
    },
    (thrown) => crash(thrown),
  );
}

function refuse(version: string): void {
  process.exitCode = 4;
  process.stderr.write(
    `Error: Node 20.18.1 or later is needed, and this is Bun ${version}\n` +
      'Install Node (https://nodejs.org), or take the executable of gmn, which needs neither.\n',
  );
}

function isVersionFlag(word: string | undefined): boolean {
  return word === '--version' || word === '-v';
}

/** Writes to the descriptor directly: opening the stream would cost more than everything else here. */
function print(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(1, bytes, written);
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code === 'EPIPE') return;
    // A full non-blocking pipe: the stream writes the rest when it can.
    if (code === 'EAGAIN') process.stdout.on('error', () => {}).write(bytes.subarray(written));
    else crash(thrown, 'Check the free disk space where the output goes.');
  }
}

function findHelp(argv: readonly string[]): string | undefined {
  const words = argv.filter((word) => word !== '--help' && word !== '-h');
  if (words.length === argv.length || !words.every((word) => /^[a-z][a-z-]*$/.test(word))) return undefined;
  const name = `${['gmn', ...words].join('-')}.txt`;
  const brief = argv.includes('--help') ? undefined : readPrebuiltText('short-help', name);
  const text = brief ?? readPrebuiltText('help', name);
  return text !== undefined && fitsTerminal(text) ? text : undefined;
}

/** In a narrow window `main` breaks it between words. To ask for the width opens the stream, which a script need not wait for. */
function fitsTerminal(text: string): boolean {
  if (!fstatSync(1).isCharacterDevice()) return true;
  const { columns } = process.stdout;
  return !text.split('\n').some((line) => line.length > columns);
}

function findDescription([first, second, ...more]: readonly string[]): string | undefined {
  return first === 'help' && second === '--json' && more.length === 0 ? readPrebuiltText('.', 'help.json') : undefined;
}

/** Shells request it whenever they start, so it must be fast. */
function findCompletion([first, shell = '', ...more]: readonly string[]): string | undefined {
  if (first !== 'completion' || more.length > 0 || !/^[a-z]+$/.test(shell)) return undefined;
  return readPrebuiltText('completion', shell);
}

function readPrebuiltText(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(DIST, folder, name), 'utf8');
  } catch {
    return undefined;
  }
}

/** `main` handles every failure itself; what arrives here is a bug, and users have no use for a stack trace. */
function crash(thrown: unknown, hint = 'This is a bug in gmn. Please report it with the command you ran.'): void {
  process.exitCode = 1;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  process.stderr.write(`Error: ${message}\n${hint}\n`);
  process.exit();
}

type Main = (argv: readonly string[], env: Env, version: string) => Promise<number>;

function asMain(exports: unknown): { readonly main: Main } {
  return exports as { main: Main };
}

import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CANARIES } from '../../support/canaries.ts';
import { type Fault, PLAIN_PIPE, row, type Variant } from '../fault.ts';
import type { Scene } from '../scene.ts';
import type { Ended } from '../started.ts';
import { MUTATIONS, type Mutation, STATE_FILES, type StateFile } from '../state-files.ts';
import { answer, reply } from '../wire-answers.ts';

/** What is at a path, so that it can be compared. */
function look(path: string): string {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return 'nothing';
  const isSmall = status.isFile() && status.size < 1_000_000;
  const content = isSmall ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
  return [status.mode, status.size, status.ino, content].join(' ');
}

/** gmn may move a cache of its own out of the way, or write it anew; everything else stays as it is. */
function isOwnCache({ path }: StateFile): boolean {
  return path.startsWith('home/.gmn/tokens/');
}

/** Runs with the file spoilt, sees that it stays so, and puts the good one back for the oracle to find. */
async function spoilt(scene: Scene, file: StateFile, { text, make }: Mutation): Promise<Ended> {
  const path = join(scene.root, file.path);
  const was = lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path) : undefined;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  if (text !== undefined) writeFileSync(path, text(file.good), { mode: 0o600 });
  make?.(path);
  if (file.path.startsWith('home/.gmn/') && make !== undefined && lstatSync(path).isDirectory()) chmodSync(path, 0o700);
  const before = look(path);
  const ended = await scene.run();
  if (look(path) !== before && !isOwnCache(file)) scene.problem('foreign', `${file.path} was changed`);
  for (const name of readdirSync(dirname(path)).filter((each) => each.includes('.corrupt-'))) {
    rmSync(join(dirname(path), name), { recursive: true });
  }
  rmSync(path, { recursive: true, force: true });
  if (was !== undefined) writeFileSync(path, was, { mode: 0o644 });
  else if (file.path.startsWith('home/.gemini/')) rmSync(path, { force: true });
  return ended;
}

function variantOf(file: StateFile, mutation: Mutation): Variant {
  return {
    ...file.variant,
    name: file.name,
    play: (scene) => spoilt(scene, file, mutation),
    expect: file.expected(mutation.name),
  };
}

/** Each begins with another file, so that every test run tries all of them. */
function rowOf(mutation: Mutation, index: number): Fault {
  const start = index % STATE_FILES.length;
  const files = [...STATE_FILES.slice(start), ...STATE_FILES.slice(0, start)];
  const variants = files.map((file) => variantOf(file, mutation));
  return row(`J${index + 1}`, `every state file: ${mutation.name}`, variants);
}

const granted = answer(200, JSON.stringify({ access_token: CANARIES.granted, expires_in: 3599 }));

/** A sign-in whose end is said in an odd way: it is refreshed at most once. */
function expiring(name: string, expiry: unknown): Variant {
  const document = { access_token: CANARIES.access, refresh_token: CANARIES.refresh, token_type: 'Bearer' };
  return {
    name,
    ways: PLAIN_PIPE,
    signIn: 'fresh',
    home: { '.gemini/oauth_creds.json': JSON.stringify({ ...document, expiry_date: expiry }) },
    model: [reply('Hello.')],
    token: [granted],
    isEndless: true,
    expect: { code: 0, text: 'Hello.' },
    check: ({ server, problem }) => {
      if (server.asked('token').length > 1) problem('requests', 'refreshed more than once');
    },
  };
}

/** The rows J1 to J22. */
export const STATE: readonly Fault[] = [
  ...MUTATIONS.map(rowOf),
  row(
    'J20',
    'encrypted official store (gemini-credentials.json: three hex fields) from another host name',
    [],
    ['test/auth/stores.test.ts', 'an encrypted file of another machine is reported as such, and left alone'],
  ),
  row(
    'J21',
    'expiry_date missing, string, seconds, year 9999, negative',
    [
      expiring('missing', undefined),
      expiring('a string', String(Date.now() + 3_000_000)),
      expiring('in seconds', Math.floor(Date.now() / 1000) + 3000),
      expiring('the year 9999', 253_370_764_800_000),
      expiring('negative', -1),
    ],
    ['test/auth/token.test.ts', 'an expiry is never beyond what an access token can live'],
  ),
  row(
    'J22',
    'keychain/secret service hangs',
    [],
    ['test/auth/stores.test.ts', 'when the Keychain %s, the file is taken'],
  ),
];

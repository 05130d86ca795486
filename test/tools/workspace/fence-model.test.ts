import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { createFence } from '../../../src/tools/workspace/fence.ts';
import { FUZZ_TIMEOUT, fuzz } from '../../support/fuzz.ts';

/** A tree in memory: what is at a path that is absolute and free of `.` and `..`. */
type Node = 'file' | 'directory' | { readonly link: string };
type Tree = ReadonlyMap<string, Node>;

const NAMES = ['a', 'b', 'app', 'app-x', 'c'] as const;
const name = fc.constantFrom(...NAMES);
const target = fc
  .tuple(
    fc.constantFrom('', '/', './', '../', '../../', '/app/'),
    fc.array(fc.oneof(name, fc.constant('..')), { maxLength: 3 }),
  )
  .map(([start, steps]) => start + steps.join('/') || '.');
const node = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Node>('directory') },
  { weight: 2, arbitrary: fc.constant<Node>('file') },
  { weight: 4, arbitrary: target.map((link): Node => ({ link })) },
);

/** Some places, each in a directory that is there. The workspace is `/app`. */
const tree = fc
  .array(fc.tuple(fc.array(name, { minLength: 1, maxLength: 3 }), node), { maxLength: 14 })
  .map((entries) => {
    const places = new Map<string, Node>([['/app', 'directory']]);
    for (const [steps, what] of entries) {
      const path = `/${steps.join('/')}`;
      const parent = path.slice(0, path.lastIndexOf('/'));
      if (!places.has(path) && (parent === '' || places.get(parent) === 'directory')) places.set(path, what);
    }
    return places;
  });

const path = fc
  .tuple(
    fc.constantFrom('', '/', './', '/app/', '/app-x/'),
    fc.array(fc.oneof(name, fc.constantFrom('.', '..', '')), { maxLength: 5 }),
  )
  .map(([start, steps]) => start + steps.join('/'));

/** Takes `.` and `..` away by name alone, as every path is read before it is looked up. */
function plain(from: string, given: string): string {
  const steps: string[] = [];
  for (const step of (given.startsWith('/') ? given : `${from}/${given}`).split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '' && step !== '.') steps.push(step);
  }
  return `/${steps.join('/')}`;
}

/** What a kernel would find, one step at a time: a place, and how much of the way to it is missing; or nothing at all. */
function walk(places: Tree, from: string): { readonly at: string; readonly missing: number } | undefined {
  let todo = from.split('/').slice(1);
  let at = '';
  let links = 0;
  while (todo.length > 0) {
    const [step = '', ...rest] = todo;
    todo = rest;
    if (step === '' || step === '.') continue;
    if (step === '..') {
      at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
      continue;
    }
    const next = `${at}/${step}`;
    const what = places.get(next);
    if (what === undefined) return { at: [next, ...todo].join('/'), missing: 1 + todo.length };
    if (what === 'file' && todo.length > 0) return undefined;
    if (typeof what === 'string') at = next;
    else {
      links += 1;
      if (links > 40) return undefined;
      if (what.link.startsWith('/')) at = '';
      todo = [...what.link.split('/'), ...todo];
    }
  }
  return { at: at === '' ? '/' : at, missing: 0 };
}

function isIn(root: string, place: string): boolean {
  return place === root || place.startsWith(`${root}/`);
}

/** Where the fence must lead, or undefined if it must refuse. */
function expected(
  places: Tree,
  root: string,
  given: string,
): { readonly at: string; readonly missing: number } | undefined {
  const wanted = plain(root, given);
  if (given === '' || !isIn(root, wanted)) return undefined;
  // Step by step, so that what is missing is missing of the path as it was given, not of where a link leads.
  const steps = wanted.split('/').slice(1);
  for (let count = steps.length; count > 0; count -= 1) {
    const found = walk(places, `/${steps.slice(0, count).join('/')}`);
    if (found === undefined) return undefined;
    if (found.missing > 0) {
      // A link to nothing is nothing to write through.
      if (isDangling(places, steps.slice(0, count))) return undefined;
      continue;
    }
    if (!isIn(root, found.at)) return undefined;
    const rest = steps.slice(count);
    // Below a file there is nothing.
    if (rest.length > 0 && places.get(found.at) === 'file') return undefined;
    return { at: [found.at, ...rest].join('/'), missing: rest.length };
  }
  return undefined;
}

function isDangling(places: Tree, steps: readonly string[]): boolean {
  const parent = walk(places, `/${steps.slice(0, -1).join('/')}`);
  const what =
    parent && parent.missing === 0 ? places.get(`${parent.at === '/' ? '' : parent.at}/${steps.at(-1)}`) : undefined;
  return typeof what === 'object';
}

test(
  'the fence leads where a kernel that never leaves the workspace would, for any tree, link and path',
  async () => {
    await fc.assert(
      fc.asyncProperty(tree, fc.array(path, { minLength: 1, maxLength: 12 }), async (places, paths) => {
        const top = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-fence-')));
        try {
          const real = planted(top, places);
          const fence = await createFence({ roots: [`${top}/app`] });
          for (const given of paths) {
            const asked = given.startsWith('/') ? top + given : given;
            const found = await fence.place(asked, 'read').catch(refusal);
            const wanted = expected(real, `${top}/app`, asked);
            expect({ given, at: found?.path, missing: found?.missing }).toEqual({ given, ...wanted });
          }
        } finally {
          rmSync(top, { recursive: true, force: true });
        }
      }),
      fuzz(50),
    );
  },
  FUZZ_TIMEOUT,
);

/** Puts the tree on the disk, and gives it with the directories above it. */
function planted(top: string, places: Tree): Tree {
  const steps = top.split('/').slice(1);
  const above = steps.map((_, n): [string, Node] => [`/${steps.slice(0, n + 1).join('/')}`, 'directory']);
  const all = new Map(above);
  for (const [place, what] of places) {
    const path = top + place;
    if (what === 'directory') mkdirSync(path);
    else if (what === 'file') writeFileSync(path, '');
    const node = typeof what === 'object' ? { link: what.link.startsWith('/') ? top + what.link : what.link } : what;
    if (typeof node === 'object') symlinkSync(node.link, path);
    all.set(path, node);
  }
  return all;
}

function refusal(thrown: unknown): undefined {
  if (thrown instanceof AppError && thrown.fault === 'usage') return undefined;
  throw thrown;
}

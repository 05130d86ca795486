import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { AppError } from '../../src/core/error.ts';
import { isSensitivePath } from '../../src/core/text/secrets.ts';
import { findNamedFile } from '../../src/input/named-file.ts';
import { FUZZ_TIMEOUT, fuzz } from '../support/fuzz.ts';
import { posixTest } from '../support/posix.ts';
import { temporary } from '../support/temporary.ts';

const name = fc.constantFrom('a', '.env', '.aws');
const steps = fc.array(name, { minLength: 1, maxLength: 2 });
const node = fc.oneof(
  fc.constant(undefined),
  fc.tuple(fc.constantFrom('', '../', '../../', '../home/'), steps).map(([start, way]) => start + way.join('/')),
);

posixTest(
  'whatever links there are, a secret file is found only by its own path',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('home', 'work'), steps, node), { maxLength: 16 }),
        async (places) => {
          const top = realpathSync(mkdtempSync(join(tmpdir(), 'gmn-named-')));
          const cwd = join(top, 'work');
          try {
            for (const [root, way, link] of places) plant(join(top, root), way, link);
            mkdirSync(cwd, { recursive: true });
            for (const [root, way] of places) {
              const given = root === 'work' ? way.join('/') : ['..', root, ...way].join('/');
              const found = await findNamedFile(given, { cwd, env: { HOME: join(top, 'home') } }).catch(refusal);
              if (found === undefined || found.kind === 'directory') continue;
              expect({ given, found }).toEqual({
                given,
                found: { path: realpathSync(join(cwd, given)), kind: 'file' },
              });
              if (found.path !== resolve(cwd, given)) expect(isSensitivePath(found.path), given).toBe(false);
            }
          } finally {
            rmSync(top, { recursive: true, force: true });
          }
        },
      ),
      fuzz(100),
    );
  },
  FUZZ_TIMEOUT,
);

/** A file, or a link to `link`; nothing if something else is in the way. */
function plant(root: string, way: readonly string[], link: string | undefined): void {
  const path = join(root, ...way);
  try {
    mkdirSync(join(path, '..'), { recursive: true });
    if (link === undefined) writeFileSync(path, '', { flag: 'wx' });
    else symlinkSync(link, path);
  } catch {
    // It is below a file, or exists.
  }
}

function refusal(thrown: unknown): undefined {
  if (thrown instanceof AppError && thrown.fault === 'usage') return undefined;
  throw thrown;
}

posixTest('a link above the working directory or the home directory did not come with a folder', async () => {
  const root = temporary({ 'real/work/.env': 'x', 'real/home/.aws/config': 'x' });
  symlinkSync('real', join(root, 'link'));
  const context = { cwd: join(root, 'link/work'), env: { HOME: join(root, 'link/home') } };
  const real = join(root, 'real/work/.env');
  for (const given of ['.env', './.env', join(root, 'link/work/.env'), real]) {
    expect(await findNamedFile(given, context)).toEqual({ path: real, kind: 'file' });
  }
  expect(await findNamedFile(join(root, 'link/home/.aws/config'), context)).toMatchObject({ kind: 'file' });
  symlinkSync('../home/.aws', join(root, 'real/work/docs'));
  await expect(findNamedFile('docs/config', context)).rejects.toMatchObject({
    message: `docs/config leads to ${join(root, 'real/home/.aws/config')}, which may hold secrets`,
    hint: `If you want to send it, name that file itself: ${join(root, 'real/home/.aws/config')}`,
  });
});

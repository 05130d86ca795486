import { linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { put } from './place.ts';

/** What lies outside the workspace, and must be seen nowhere else. */
export const CANARY = 'canary-5f0c2a';

/** Plants a workspace, `app`, with neighbours that hold the canary, and links to them in every shape. Returns its path. */
export function plantScene(top: string): string {
  put(top, {
    'secret.txt': CANARY,
    'app-secret/canary.txt': CANARY,
    'app.bak/canary.txt': CANARY,
    'APP/canary.txt': CANARY,
    'app /canary.txt': CANARY,
    'outside/deep/canary.txt': CANARY,
    'outside/canary.txt': CANARY,
    'app/inside.txt': 'inside\n',
    'app/sub/inside.txt': 'inside\n',
  });
  const root = join(top, 'app');
  const links: Readonly<Record<string, string>> = {
    file: '../secret.txt',
    'file-absolute': join(top, 'secret.txt'),
    directory: '../outside',
    'directory-absolute': join(top, 'outside'),
    'sub/up': '../../outside',
    'to-root': '/',
    'to-parent': '..',
    'to-proc': '/proc/self/root',
    'to-fd': '/dev/fd/0',
    'to-environ': '/proc/self/environ',
    'to-cwd': '/proc/self/cwd',
    loop: 'loop',
    'loop-a': 'loop-b',
    'loop-b': 'loop-a',
    dangling: '../not-there.txt',
    'dangling-directory': '../not-there/file.txt',
    'chain-0': '../outside',
    'sub/inner': '../sub',
    'to-sibling': '../app-secret',
    'inner/../file': '../secret.txt',
  };
  mkdirSync(join(root, 'inner'), { recursive: true });
  for (const [name, target] of Object.entries(links))
    symlinkSync(target, join(root, name.replace('inner/../', 'via-')));
  for (let index = 1; index < 38; index += 1) symlinkSync(`chain-${index - 1}`, join(root, `chain-${index}`));
  put(root, { 'hard-source.txt': 'hard\n' });
  linkSync(join(root, 'hard-source.txt'), join(root, 'hard.txt'));
  return root;
}

/** Paths by which a model may try to get out. */
export function payloadTable(top: string, root: string): readonly string[] {
  const up = ['..', '../..', '../../..', './..', 'sub/..', 'sub/../..', '....//', '..\\', '..%2f', '%2e%2e/', '..;/'];
  const ends = ['secret.txt', 'outside/canary.txt', 'app-secret/canary.txt', 'app.bak/canary.txt', 'outside/new.txt'];
  const links = ['directory', 'directory-absolute', 'sub/up', 'to-root', 'to-parent', 'to-proc', 'to-cwd', 'chain-0'];
  const below = ['canary.txt', 'deep/canary.txt', '../secret.txt', 'outside/canary.txt', 'new.txt', 'a/b/new.txt', ''];
  return [
    ...up.flatMap((prefix) => ends.map((end) => `${prefix}/${end}`)),
    ...ends.map((end) => join(top, end)),
    ...ends.map((end) => `file://${join(top, end)}`),
    ...ends.map((end) => `${root}/../${end}`),
    ...ends.map((end) => `${root}-secret/../${end}`),
    ...links.flatMap((link) => below.map((end) => `${link}/${end}`)),
    ...['chain-37/canary.txt', 'chain-37', 'to-sibling/canary.txt', 'sub/inner/up/canary.txt', 'via-file'],
    ...['file', 'file-absolute', 'to-fd', 'to-environ', 'loop', 'loop-a/x', 'dangling', 'dangling-directory', 'loop/x'],
    ...[
      '/etc/passwd',
      '/proc/self/environ',
      '/proc/self/mem',
      '/dev/zero',
      '/dev/stdin',
      '/sys/kernel',
      '/',
      '//',
      '~',
    ],
    ...[
      '~/.ssh/id_rsa',
      '~root',
      '$HOME',
      '$' + '{HOME}/x',
      '%HOME%',
      '\\\\server\\share\\x',
      'C:\\Windows\\x',
      '\\\\?\\C:\\x',
    ],
    ...['', '\0', 'a\0b', '../secret.txt\0.txt', 'inside.txt\0', ' ', '.', './', '..', 'sub/../../secret.txt'],
    ...[
      'x'.repeat(5000),
      `${'a/'.repeat(3000)}b`,
      'x'.repeat(300),
      '-rf',
      '--',
      '-',
      '*',
      '**',
      '?',
      '[',
      '{',
      '..*/secret.txt',
    ],
  ];
}

/** More of them, put together at random. */
export function generatedPayload(top: string, root: string): fc.Arbitrary<string> {
  const step = fc.constantFrom(
    ...['..', '.', '', 'sub', 'directory', 'to-parent', 'to-root', 'to-proc', 'up', 'outside', 'app', 'app-secret'],
    ...['canary.txt', 'secret.txt', 'inside.txt', 'new.txt', 'tmp', 'chain-9', 'deep', 'inner', top.slice(1)],
    ...['%2e%2e', '..\\', '...', '\u2025', '\uff0e\uff0e', '..\u0000', 'APP', 'app ', 'file', 'dangling', root],
  );
  return fc
    .tuple(fc.constantFrom('', '/', './', '//', `${root}/`), fc.array(step, { minLength: 1, maxLength: 6 }))
    .map(([start, steps]) => start + steps.join('/'));
}

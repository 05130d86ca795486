import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { posixTest } from '../../support/posix.ts';
import { marker, placeAt, temporary } from '../place.ts';

test('a program called rg in the workspace is never run', async () => {
  const root = temporary({ 'a.txt': 'needle\n' });
  const outside = temporary();
  const mark = join(outside, 'mark');
  marker(join(root, 'bin'), mark);
  marker(root, mark);
  symlinkSync(join(root, 'bin/rg'), join(outside, 'rg'));
  for (const PATH of [
    '.',
    './bin',
    'bin',
    root,
    join(root, 'bin'),
    outside,
    ['', '.', root, outside].join(delimiter),
  ]) {
    const here = await placeAt(root, { env: { PATH } });
    await here.output('search_file_content', { pattern: 'needle' });
    expect(existsSync(mark), PATH).toBe(false);
  }
});

posixTest('what a lying rg says is looked up through the fence, and its words are not repeated', async () => {
  const top = temporary({ 'outside.txt': 'canary\n', 'app/a.txt': 'first\nneedle\n', 'app/.env': 'canary\n' });
  symlinkSync('../outside.txt', join(top, 'app/link.txt'));
  const lines = [
    'a.txt\\0002:1:6:canary',
    '../outside.txt\\0001:1:0:canary',
    'link.txt\\0001:1:0:canary',
    '.env\\0001:1:0:canary',
  ];
  const absolute = `${join(top, 'outside.txt')}\\0001:1:0:canary`;
  marker(join(top, 'bin'), join(top, 'mark'), [...lines, absolute].map((line) => `printf '${line}\\n'`).join('\n'));
  const here = await placeAt(join(top, 'app'), { env: { PATH: join(top, 'bin') } });
  expect(await here.output('search_file_content', { pattern: 'needle' })).toEqual({
    matches: [{ file: 'a.txt', lines: ['2: needle'] }],
  });
  symlinkSync('..', join(top, 'app/up'));
  const names = [
    'a.txt',
    '../outside.txt',
    join(top, 'outside.txt'),
    'up/outside.txt',
    '.env',
    './a/../../outside.txt',
  ];
  marker(join(top, 'bin'), join(top, 'mark'), names.map((name) => `printf '${name}\\000'`).join('\n'));
  expect(await here.output('glob', { pattern: '**/*' })).toEqual({ files: ['a.txt'] });
  expect(existsSync(join(top, 'mark'))).toBe(true);
});

posixTest('without a usable rg (it fails, hangs or floods) gmn searches itself', async () => {
  const root = temporary({ 'a.txt': 'needle\n' });
  const tools = temporary();
  marker(tools, join(tools, 'mark'), 'exit 2\n');
  const here = await placeAt(root, { env: { PATH: tools } });
  const found = { matches: [{ file: 'a.txt', lines: ['1: needle'] }] };
  expect(await here.output('search_file_content', { pattern: 'needle' })).toEqual(found);
  marker(tools, join(tools, 'mark'), "while :; do printf 'a.txt\\0001:1:0:x\\n'; done\n");
  expect(await here.output('search_file_content', { pattern: 'needle' })).toMatchObject({
    note: 'there may be more; use a narrower pattern or directory',
  });
  marker(tools, join(tools, 'mark'), 'exec sleep 60\n');
  const stop = new AbortController();
  const reason = new Error('stopped');
  const search = here.call('search_file_content', { pattern: 'needle' }, stop.signal);
  setImmediate(() => stop.abort(reason));
  await expect(search).rejects.toBe(reason);
});

posixTest('what an rg finds where nobody looks does not count, however much it is', async () => {
  const root = temporary({
    '.geminiignore': 'hidden.txt\n',
    'hidden.txt': 'needle\n',
    'z.md': 'needle\n',
    'z.txt': 'needle\n',
  });
  const tools = temporary();
  const flood =
    "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf 'hidden.txt\\000%s:1:0:x\\n.env\\000%s:1:0:x\\nz.md\\000%s:1:0:x\\n' $i $i $i; done";
  marker(
    tools,
    join(tools, 'mark'),
    `echo "$@" >> '${join(tools, 'args')}'\n${flood}\nprintf 'z.txt\\0001:1:0:x\\n'\n`,
  );
  const here = await placeAt(root, { env: { PATH: `${tools}${delimiter}${process.env.PATH}` } });
  const found = { matches: [{ file: 'z.txt', lines: ['1: needle'] }] };
  expect(await here.output('search_file_content', { pattern: 'needle', include_pattern: '*.txt' })).toEqual(found);
  expect(await here.output('search_file_content', { pattern: 'needle', exclude_pattern: '*.md' })).toEqual(found);
  const [first, second] = readFileSync(join(tools, 'args'), 'utf8').split('\n');
  expect(first).toMatch(/^--iglob \*\*\/\*\.txt --no-config /);
  expect(second).toMatch(/^--no-config /);
});

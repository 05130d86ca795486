import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, runGmn, runGmnIn } from '../support/gmn.ts';
import { posixTest } from '../support/posix.ts';

const DIFF = '--- a/src/sum.ts\n+++ b/src/sum.ts\n@@ -1 +1,2 @@\n+let total = 0;\n';

test('a diff from a pipe is reviewed, with a style guide', async (t) => {
  const files = { 'STYLE.md': 'Use `const`.\n' };
  const gmn = await runGmn(t, ['--demo', '-f', 'STYLE.md', 'review this change', '-u'], { files, stdin: DIFF });
  expect({ ...gmn, stderr: gmn.stderr.replace(/\d+\.\ds$/m, '0.1s') }).toMatchObject({
    stdout: `- src/sum.ts:3 adds a loop that never ends when \`n\` is negative. Guard it.
- STYLE.md asks for \`const\`; line 5 uses \`let\`.
`,
    stderr: 'gemini-2.5-flash · 48 in · 31 out · 79 tokens · 0.1s\n',
    exitCode: 0,
  });
});

test('structured data goes straight into another program', async (t) => {
  const schema = '{"type":"array","items":{"type":"string"}}';
  const gmn = await runGmn(t, ['--demo', '--output-schema', schema, '3 colors']);
  expect(gmn).toMatchObject({ stderr: '', exitCode: 0 });
  expect(JSON.parse(gmn.stdout)[1]).toBe('green');
});

posixTest('only the code goes into a file, which runs', async (t) => {
  const at = place(t);
  const args = ['--demo', '-x', 'bash script that prints the date', '--output-file', 'now.sh'];
  const gmn = await runGmnIn(t, at, args);
  expect(gmn).toMatchObject({ stdout: "date '+%F'\n", stderr: 'gmn: wrote now.sh (11 bytes)\n', exitCode: 0 });
  expect(readFileSync(join(at.cwd, 'now.sh'), 'utf8')).toBe("date '+%F'\n");
  const ran = spawnSync('sh', ['now.sh'], { cwd: at.cwd, encoding: 'utf8' });
  expect(ran.stdout).toMatch(/^\d{4}-\d\d-\d\d\n$/);
});

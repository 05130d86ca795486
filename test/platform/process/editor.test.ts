import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { editInEditor } from '../../../src/platform/process/editor.ts';
import { posixTest } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

posixTest('an abort while the file is being made is not missed, and no editor is started', async () => {
  const mark = join(temporary(), 'started');
  const controller = new AbortController();
  const env = { ...process.env, VISUAL: `touch ${mark}; :` };
  const editing = editInEditor({ text: 'x', name: 'x.md', env, terminal: '/dev/null' }, controller.signal);
  controller.abort(new Error('enough'));
  await expect(editing).rejects.toThrow('enough');
  expect(existsSync(mark)).toBe(false);
});

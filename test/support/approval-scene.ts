import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import type { Script } from './approval-program.ts';
import { type Asking, type AskingOptions, asking, bundledProgram } from './asking.ts';

export const PROMPT = ' › ';
/** The error that the model gets after a no. */
export const NO =
  'The user said no to this call.\nDo not repeat it; ask what they would like instead, or continue without it.';
/** What happens to the run's clock while a person is asked. */
export const WAITED = ['hold', 'resume'];

export const command = (text: string) => ({ name: 'run_shell_command', args: { command: text } });
export const write = (content: string, file_path = 'hello.js') => ({
  name: 'write_file',
  args: { file_path, content },
});

/** Bundles the program once for all tests of a file. */
export function approvalScene(): (t: TestContext, script: Script, options?: AskingOptions) => Asking {
  let directory = '';
  let program = '';
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gmn-approval-'));
    program = await bundledProgram(directory);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return (t, script, options) => asking(t, program, script, options);
}

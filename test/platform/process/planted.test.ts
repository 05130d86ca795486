import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../../../src/platform/process/child.ts';
import { helperEnvironment, programEnvironment } from '../../../src/platform/process/environment.ts';
import { runShell } from '../../../src/platform/process/shell.ts';
import { chooseShell } from '../../../src/platform/process/shell-choice.ts';
import { isWindows } from '../../support/posix.ts';
import { temporary } from '../../support/temporary.ts';

// Windows looks for a program in the current directory first. A project could bring its own git there.

const windowsTest = test.runIf(isWindows);
const { signal } = new AbortController();

/** A folder with programs that leave a file behind when they run. */
function plant(...names: readonly string[]) {
  const folder = temporary();
  for (const name of names) writeFileSync(join(folder, name), `@echo planted>"${join(folder, 'ran.txt')}"\r\n`);
  return { folder, hasRun: () => existsSync(join(folder, 'ran.txt')) };
}

windowsTest('a command does not run the programs of its directory by their bare names', async () => {
  const { folder, hasRun } = plant('git.bat', 'tool.cmd');
  for (const shell of [chooseShell(undefined, process.env), chooseShell('cmd', process.env)]) {
    for (const command of ['git --version', 'tool']) {
      const run = { shell, command, cwd: folder, env: process.env, timeoutMs: 20_000, maxChars: 1000 };
      await runShell(run, signal);
      expect([command, hasRun()]).toEqual([command, false]);
    }
  }
});

// Wine's cmd does not heed the variable, so this is what can be shown there.
windowsTest('every command and every program is told to look into PATH only', async () => {
  const told = 'NoDefaultCurrentDirectoryInExePath';
  const shell = chooseShell('cmd', process.env);
  const run = { shell, command: `set ${told}`, cwd: temporary(), env: process.env, timeoutMs: 20_000, maxChars: 1000 };
  expect((await runShell(run, signal)).head.trim()).toBe(`${told}=1`);
  expect(programEnvironment(process.env, { PATH: 'C:\\x' })).toMatchObject({ [told]: '1', PATH: 'C:\\x' });
  expect(helperEnvironment(process.env, [])).toMatchObject({ [told]: '1' });
});

const startIn = (cwd: string, command: string) => {
  const tools = temporary({ 'server.cmd': '@node -e "console.log(1+1)"\r\n' });
  const env = programEnvironment(process.env, { PATH: `${tools};${process.env.PATH}` });
  return startProgram({ command, args: [], cwd, env, onExit: () => () => {} });
};

windowsTest('an MCP server that is a batch file runs no program of its directory', async () => {
  const { folder, hasRun } = plant('node.bat');
  const server = startIn(folder, 'server');
  await server.ended;
  await server.stop();
  expect(hasRun()).toBe(false);
});

windowsTest('an MCP server that is not installed is not found in its directory', async () => {
  const { folder, hasRun } = plant('uvx.bat', 'uvx.exe');
  expect([(await startIn(folder, 'uvx').ended).failure, hasRun()]).toEqual(['ENOENT', false]);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sharedHome } from '../support/chat.ts';
import { chatInTerminal } from '../support/chat-terminal.ts';
import { posixTest } from '../support/posix.ts';

posixTest('entries that tell a secret are not kept for the next chat, the others are', async (t) => {
  const { path, env } = sharedHome(t);
  const secrets = [
    'password: hunter2secret',
    'パスワードは hunter2 です',
    'use AKIAIOSFODNN7EXAMPLE',
    'api_key = "9f8e7d6c5b4a39281706"',
    '/note curl -u bob:s3cr3tpass http://x',
  ];
  const terminal = chatInTerminal(t, ['--demo', '--no-session'], { env });
  await terminal.ready(1);
  for (const [index, line] of ['how do I reset a password?', ...secrets].entries()) {
    terminal.enter(line);
    await terminal.ready(index + 2);
  }
  terminal.enter('/quit');
  expect((await terminal.ended).exitCode).toBe(0);
  expect(readFileSync(join(path, 'history'), 'utf8')).toBe('"how do I reset a password?"\n"/quit"\n');
});

import { addPermission } from '../../src/config/permissions-file.ts';
import type { App } from '../../src/core/app.ts';

/** Keeps as many permissions as it is told to, one after the other, as runs in different terminals do. */
const [file = '', name = '', count = ''] = process.argv.slice(2);
const clock: App['clock'] = {
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
};
for (let index = 0; index < Number(count); index += 1) {
  const kept = { project: '/w', permission: { kind: 'prefix', words: [name, String(index)] }, time: '' } as const;
  await addPermission(file, kept, { clock, signal: new AbortController().signal });
}

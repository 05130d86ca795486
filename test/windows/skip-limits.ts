import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, type TestContext } from 'vitest';
import { explainLimit } from './limits.mjs';

const tests = fileURLToPath(new URL('..', import.meta.url));

beforeEach(({ task, skip }) => {
  if (process.env.GMN_TEST_ALL) return;
  const reason = explainLimit(relative(tests, task.file.filepath).replaceAll('\\', '/'), nameFully(task));
  if (reason !== undefined) skip(reason);
});

/** With the names of the groups around it, as in the report. */
function nameFully(task: TestContext['task']): string {
  const names = [task.name];
  for (let suite = task.suite; suite?.name && suite.name !== task.file.name; suite = suite.suite)
    names.unshift(suite.name);
  return names.join(' > ');
}

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach } from 'vitest';

const NODES_OWN = 'is about Node itself';
const CACHE = 'is about the code cache, of which the executable has no need';
const WORDS = 'names Node and the code cache; executable.test.ts has what is said instead';

/** The tests that are not run against the executable, by file and name, and why not. */
export const SKIPPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cli/doctor.test.ts': {
    'without anything configured it says what is missing, and what to do': WORDS,
    'where all is well it ends with 0; without a UTF-8 locale the marks are words': WORDS,
  },
  'cli/mcp-hostile-chat.test.ts': {
    'among hostile servers a chat asks, calls and ends, with little memory, and leaves no process behind':
      'measures the memory inside Node, with NODE_OPTIONS',
  },
  'cli/privacy.test.ts': { 'a run that Node itself gives up leaves no report and no dump behind': NODES_OWN },
  'cli/process.test.ts': {
    'the compiled code is kept for the next start, for nobody else to read, and a spoilt one does no harm': CACHE,
  },
  'cli/stubborn.test.ts': {
    'a directory that is gone is reported as gone': 'the runtime says so itself, before gmn begins, and exits with 1',
  },
  'mcp/server/protocol/protocol.test.ts': {
    'whatever a dependency prints, stdout is protocol only': 'puts the noise into Node, with NODE_OPTIONS',
  },
  'platform/http/hostile.test.ts': {
    'TLS sends a host name to the server before its certificate is seen, but never an address':
      'the runtime tells an address too, and cannot be asked not to',
  },
  'platform/http/proxy.test.ts': { 'a proxy that is named by its address makes no runtime complain': NODES_OWN },
  'platform/http/send.test.ts': {
    'a server of another age, and one without TLS, fail in the handshake (N6)':
      'the runtime, in which the server of the test runs too, cannot serve so old a version of TLS',
  },
};

/** The same for faults of the matrix, by their ids. */
export const SKIPPED_FAULTS: Readonly<Record<string, string>> = {
  N36: 'shifts the clock of Node, with NODE_OPTIONS',
  S9: 'makes the clock of Node fast, with NODE_OPTIONS',
  P18: 'throws inside Node, with NODE_OPTIONS',
  P24: 'makes the clock of Node jump, with NODE_OPTIONS',
};

const here = fileURLToPath(new URL('..', import.meta.url));

beforeEach(({ task, skip }) => {
  const file = relative(here, task.file.filepath).replaceAll('\\', '/');
  const id = /\((\w+)\)$/.exec(task.name)?.[1] ?? '';
  const reason = file === 'faults/matrix.test.ts' ? SKIPPED_FAULTS[id] : SKIPPED[file]?.[task.name];
  if (reason !== undefined) skip(reason);
});

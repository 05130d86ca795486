import { deflateSync } from 'node:zlib';
import { answer, call, prompt, reply, sessionOf } from './samples.ts';

const LISTING = Array.from({ length: 120 }, (_, index) => `src/part-${index}.ts: ${'line '.repeat(1 + (index % 9))}`);

const ANSWER = `# Why the cache misses

The key is made from the **request's headers**, and one of them changes every time. Three things follow:

1. Every lookup is a miss, so the cache only costs.
2. The table grows without end.
   - entries are never read again
   - and never dropped
3. ~~Nothing else is wrong~~ The clock is read twice.

> A cache without a bound is a leak with a nice name.

\`\`\`ts
// The key no longer depends on when it was asked.
export function keyOf({ method, url, headers }: Request): string {
  const kept = [...headers].filter(([name]) => !VOLATILE.has(name));
  return JSON.stringify([method, url.toString(), kept.sort()], undefined, 2);
}
\`\`\`

| case | before | after |
|:-----|-------:|------:|
| first request | 41 ms | 42 ms |
| second request | 41 ms | 3 ms |
| 10,000 requests | 6,812 ms | 230 ms |

See [the standard](https://www.rfc-editor.org/rfc/rfc9111#section-4.1) on \`Vary\`, or write to <someone@example.org>.

- [x] key without volatile headers
- [ ] a bound of 1,000 entries`;

const MORE = `日本語の説明もできます。キャッシュの鍵は**ヘッダー**から作られます。

هذا نص عربي يوضح أن الاتجاه من اليمين إلى اليسار يعمل كما ينبغي.

\`\`\`python
def bound(cache: dict[str, bytes], limit: int = 1_000) -> None:
    """Drops the oldest entries."""
    while len(cache) > limit:
        cache.pop(next(iter(cache)))  # insertion order
\`\`\`

\`\`\`diff
-const key = hash(request);
+const key = keyOf(request);
\`\`\`

A line of code that is much too long for the page: \`\`\`x\`\`\`

\`\`\`sh
curl --silent --show-error --fail --location --header 'Accept: application/json' --output result.json https://api.example.com/v1/resources/with/a/long/path?and=parameters
\`\`\``;

/** For looking at: long and short, prose and code, pictures, tools, thoughts, several scripts. */
export const showcase = sessionOf(
  [
    prompt('Why does the cache in src/cache.ts miss every time?\nHere is the graph of last week.', {
      inlineData: { mimeType: 'image/png', data: picture(640, 220) },
    }),
    call(
      { text: 'The person asks about misses. I should look at how the **key** is made first.', thought: true },
      'I will look at the file, and at who calls it.',
      { functionCall: { id: 'read_file-1', name: 'read_file', args: { file_path: 'src/cache.ts', limit: 200 } } },
      { functionCall: { id: 'search-1', name: 'search_file_content', args: { pattern: 'keyOf\\(', dir_path: 'src' } } },
      { functionCall: { id: 'shell-1', name: 'run_shell_command', args: { command: 'npm test -- cache' } } },
    ),
    answer('read_file', {
      output: 'export const cache = new Map();\n\nexport function keyOf(request) {\n  return hash(request);\n}\n',
    }),
    answer('search', { output: LISTING.join('\n') }),
    answer('shell', { error: 'denied: the person said no', output: '' }),
    reply(ANSWER),
    prompt(`Explain it in Japanese and Arabic too, and bound it. This is the log:\n\n${LISTING.join('\n')}`),
    call('Writing the bound.', {
      functionCall: {
        id: 'edit_file-1',
        name: 'edit_file',
        args: {
          file_path: 'src/cache.ts',
          old_string: 'export const cache = new Map();',
          new_string: 'const MAX_ENTRIES = 1_000;\nexport const cache = new Map();\n',
        },
      },
    }),
    answer('edit_file', { output: 'Replaced 1 occurrence in src/cache.ts.' }),
    reply(MORE),
    prompt('Thanks! One more: what does "\u202egnp.exe\u202c" mean in a file name?'),
    {
      ...reply(
        'I count them first.',
        { executableCode: { language: 'PYTHON', code: 'for month in range(1, 13):\n    print(month, month ** 2)' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1 1\n2 4\n3 9' } },
        { inlineData: { mimeType: 'image/png', data: picture(320, 240) }, thoughtSignature: 'c2ln' },
        { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'NameError: month' } },
        'The bars grow with the square.',
      ),
      pages: [{ kind: 'page', url: 'https://example.com/squares', ok: true, status: 'SUCCESS' }],
    },
    prompt('And once more?'),
    { ...reply('It reads `\u202egnp.exe\u202c`: a right-to-left override turns'), finishReason: 'MAX_TOKENS' },
  ],
  {
    title: 'Why does the cache in src/cache.ts miss every time?',
    name: 'cache-misses',
    cwd: '/home/ada/projects/relay',
  },
);

/** Bars on white, in base64. */
function picture(width: number, height: number): string {
  const rows = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      const bar = Math.floor(x / 32);
      const isBar = x % 32 < 24 && height - y < 30 + ((bar * 53) % 150);
      return isBar ? [48 + bar * 6, 110, 200 - bar * 4] : [250, 250, 252];
    }).flat(),
  );
  const raw = Buffer.concat(rows.map((row) => Buffer.from([0, ...row])));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(raw)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]).toString('base64');
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

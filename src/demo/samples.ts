import type { JsonObject } from '../core/json.ts';

export interface Sample {
  readonly texts: readonly string[];
  readonly usage?: readonly [prompt: number, candidates: number];
}

export interface SampleTask {
  readonly ask: string;
  readonly calls: readonly SampleCall[];
  readonly usage?: Sample['usage'];
  readonly done: Sample;
  readonly failed: Sample;
}

interface SampleCall {
  readonly id: string;
  readonly name: 'read_file' | 'edit_file';
  readonly args: JsonObject;
}

const SHOWCASE = `# What gmn does

**Ask** from the shell, **pipe** things in, **talk** in a chat, or let the model **work** on files. This is the offline model; a real one answers in the same way.

| you type | you get |
|---|---|
| \`gmn "…"\` | one answer on stdout |
| \`git diff \\| gmn --template review\` | a review of what is piped in |
| \`gmn -o json "…"\` | one JSON object for a script |
| \`gmn --tools edit "…"\` | edits, each with its diff, each asked about |
| \`gmn undo\` | the files as they were |

Code is highlighted on a terminal and exact in a pipe:

\`\`\`python
# The longest word of a text.
def longest(text: str) -> str:
    return max(text.split(), key=len)

print(longest("a prompt becomes an answer"))
\`\`\`

> Nothing here went online. With a key it is the same command without \`--demo\`.`;

const EXPLANATION = `It adds up the numbers from \`n\` down to 1.

1. \`while (n !== 0)\` runs until \`n\` is exactly zero.
2. \`n--\` hands out the value first and lowers it afterwards, so \`next\` is the old \`n\`.
3. \`total += next\` adds it.

**Easy to miss:** for a negative or a fractional \`n\` the loop never meets zero, and never ends.`;

const REPAIR = `The loop ends only when \`n\` is exactly 0, so \`sum(-1)\` never returns.

\`\`\`diff
-  while (n !== 0) {
+  while (n > 0) {
\`\`\`

To check it: \`sum(-1)\` is 0.`;

const SUMMARY = `A change to \`src/sum.ts\` that replaces a formula by a loop.

- It is shorter, and wrong for negative numbers: the loop never ends.
- \`let\` is used where the style guide asks for \`const\`.
- Still open: a test for \`sum(-1)\`.`;

const COMMIT = `Add up the numbers in sum with a loop

The formula overflowed for large n. The loop is slower and exact; it
must not be called with a negative number.`;

/** By question in lower case. The documented sample runs depend on every byte. */
export const SAMPLES: ReadonlyMap<string, Sample> = new Map<string, Sample>([
  ['hello', { texts: ['Hello', '! How can', ' I help you today?'], usage: [5, 12] }],
  ['hi', { texts: ['Hi! What are', ' we building today?'], usage: [4, 9] }],
  [
    'review this change',
    {
      texts: [
        '- src/sum.ts:3 adds a loop that never ends when `n` is negative. Guard it.\n',
        '- STYLE.md asks for `const`; line 5 uses `let`.',
      ],
      usage: [48, 31],
    },
  ],
  ['bash script that prints the date', { texts: ['```bash\n', "date '+%F'\n", '```'], usage: [9, 14] }],
  ['best month for kyoto?', { texts: ['November.'], usage: [8, 3] }],
  ['what can gmn do?', { texts: SHOWCASE.split(/(?<= )/) }],
  ['write the commit message', { texts: [COMMIT] }],
  ['explain this', { texts: [EXPLANATION] }],
  ['fix this', { texts: [REPAIR] }],
  ['summarise this', { texts: [SUMMARY] }],
]);

export const SAMPLE_TASKS: readonly SampleTask[] = [
  {
    ask: '挨拶を日本語にして',
    calls: [
      {
        id: 'demo-edit',
        name: 'edit_file',
        args: { file_path: 'hello.js', old_string: 'console.log("Hello");', new_string: 'console.log("こんにちは");' },
      },
    ],
    usage: [40, 29],
    done: { texts: ['日本語の挨拶に変えました。'], usage: [56, 12] },
    failed: { texts: ['変更できませんでした。'], usage: [56, 12] },
  },
  {
    ask: 'fix the loop in sum.js',
    calls: [
      { id: 'demo-read', name: 'read_file', args: { file_path: 'sum.js' } },
      {
        id: 'demo-fix',
        name: 'edit_file',
        args: { file_path: 'sum.js', old_string: 'while (n !== 0) {', new_string: 'while (n > 0) {' },
      },
    ],
    done: {
      texts: [
        '**Fixed.** The loop in `sum.js` went on for ever when `n` was negative; ',
        'it now ends at zero. `gmn undo` puts the file back.',
      ],
    },
    failed: {
      texts: ['Nothing was changed: the edit was declined, ', 'or there is no `sum.js` here. `gmn demo` has one.'],
    },
  },
];

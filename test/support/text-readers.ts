import { judgeCommand } from '../../src/approval/judge-command.ts';
import { extractCodeBlocks } from '../../src/core/text/code-block.ts';
import { parseShellLine } from '../../src/core/text/command-line.ts';
import { findNearestNames } from '../../src/core/text/names.ts';
import { hasSecret, isSensitiveEntry } from '../../src/core/text/secrets.ts';
import { terminalFilter } from '../../src/core/text/terminal.ts';
import { wrapText } from '../../src/core/text/width.ts';
import { compileSchemaCheck } from '../../src/engine/answer/schema-check.ts';
import { exportSession } from '../../src/export/export.ts';
import { parseMentions } from '../../src/input/mentions.ts';
import { markdownStream } from '../../src/render/markdown/stream.ts';
import { unifiedDiff } from '../../src/tools/diff.ts';
import { editText } from '../../src/tools/edit-text.ts';
import { readableHtml } from '../../src/tools/readable-html.ts';
import { toIgnoreFile } from '../../src/tools/search/ignore.ts';
import { breakLongLines } from '../../src/tools/workspace/line-window.ts';
import { prompt, reply, sessionOf } from '../export/samples.ts';

/** What is refused costs nothing more. */
function unlessRefused(work: () => unknown): void {
  try {
    work();
  } catch {}
}

const edit = (text: string, oldText: string, newText: string): void =>
  unlessRefused(() => editText(text, { oldText, newText, isMultiple: true }));

const SCHEMA = compileSchemaCheck({
  items: { pattern: '^(\\S+\\s?)+$', enum: ['a'] },
  uniqueItems: true,
  patternProperties: { '(.*a)*b': true },
});

async function layOut(text: string, isLive: boolean): Promise<void> {
  const page = markdownStream({ columns: () => 80, isStyled: true, hasLinks: true });
  for (let at = 0; at < text.length; at += 4096) {
    await page.push(text.slice(at, at + 4096));
    if (isLive) await page.preview(20);
  }
  await page.end();
}

/** Everything that reads text from a model, a server, a file or stdin, and does more than to pass it on. */
export const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  mentions: parseMentions,
  'names like it': (text) => findNearestNames(text, [text.slice(0, -1), ...text.split(' ', 1000)]),
  'Markdown in a pipe': (text) => layOut(text, false),
  'Markdown on a terminal': (text) => layOut(text, true),
  'an export': async (text) => {
    const session = sessionOf([prompt(text), reply(text)]);
    for (const format of ['md', 'html'] as const) for (const _ of await exportSession(session, format));
  },
  'code blocks': extractCodeBlocks,
  'a command': (text) => parseShellLine(text)?.map((part) => judgeCommand(part, () => false)),
  'a terminal filter': (text) => terminalFilter().filter(text),
  'wrapped text': (text) => wrapText(text, 80),
  secrets: hasSecret,
  'names of a directory': (text) => text.split('\n').filter((name) => isSensitiveEntry(name)),
  'a diff': (text) => unifiedDiff('a', text, [...text.split('\n')].reverse().join('\n')),
  'an edit': (text) => edit(text, text.slice(0, 200), 'x'),
  'an edit without regard to white space': (text) =>
    edit(text, text.slice(0, 2000).replace(/\s/g, '  '), `x ${text.slice(0, 1000)}`),
  'an ignore file': (text) => toIgnoreFile(text)?.decide(`a/${text.slice(0, 200)}`, 'file'),
  'a web page': (text) => readableHtml(text, new URL('http://x.org')),
  'long lines': breakLongLines,
  'an answer of a schema': (text) =>
    unlessRefused(() => {
      SCHEMA(text.split('\n'), { left: 1_500_000 });
      SCHEMA({ [text]: text }, { left: 1_500_000 });
    }),
};

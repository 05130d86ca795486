import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../src/cli/parse.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { AppError } from '../../src/core/error.ts';
import { mentionedCommands, textsIn } from '../support/mentioned-commands.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

function filesIn(folder: string, ending: string): readonly string[] {
  return readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

/** What the parser says of the command lines in these texts, if it takes them not. */
function faultsOf(texts: readonly string[], file: string): readonly string[] {
  return texts.flatMap(mentionedCommands).flatMap((argv) => {
    try {
      const parsed = parseCommandLine(ROOT, argv, {});
      const isPrompt = parsed.kind === 'run' && parsed.path === 'gmn' && /^[a-wyz]/.test(argv[0] ?? '');
      return isPrompt ? [`${file}: gmn ${argv.join(' ')}: there is no such command`] : [];
    } catch (thrown) {
      return [`${file}: gmn ${argv.join(' ')}: ${AppError.from(thrown).message}`];
    }
  });
}

test('every command that a text of the program names exists, with its flags', () => {
  const files = filesIn('src', '.ts')
    .filter((file) => !file.includes('completion'))
    .map((file) => [file, textsIn(readFileSync(join(PROJECT, file), 'utf8'))] as const);
  const all = files.flatMap(([, texts]) => texts.flatMap(mentionedCommands));
  expect(all.length).toBeGreaterThan(150);
  expect(files.flatMap(([file, texts]) => faultsOf(texts, file))).toEqual([]);
});

test('every command that the docs name exists, with its flags', () => {
  const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...filesIn('docs', '.md')];
  const faults = pages.flatMap((page) => {
    const text = readFileSync(join(PROJECT, page), 'utf8');
    const code = [...text.matchAll(/^```[\s\S]*?^```|`[^`\n]+`/gm)].map(([block]) => block.replace(/^`+|`+$/g, ''));
    return faultsOf(code, page);
  });
  expect(faults).toEqual([]);
});

test.each([
  ["hint: 'To see it: gmn trst <name>'", 'gmn trst: there is no such command'],
  ["hint: 'Run: gmn sessions lst'", 'gmn sessions lst: "lst" is not a command of "gmn sessions"'],
  ["hint: 'Run: gmn sessions list --al'", "gmn sessions list --al: unknown option '--al'"],
  ['hint: \'Or gmn --no-such "…"\'', "gmn --no-such x: unknown option '--no-such'"],
  ["message: 'gmn does not know'; // gmn --nothing", undefined],
])('a wrong next step is found: %s', (source, fault) => {
  expect(faultsOf(textsIn(source), 'a.ts')).toEqual(fault === undefined ? [] : [`a.ts: ${fault}`]);
});

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { completionPlan } from '../../src/cli/completion/plan.ts';
import { helpText, shortHelpText } from '../../src/cli/help.ts';
import { manPage } from '../../src/cli/man.ts';
import { APP_FLAGS, QUIET_FLAG } from '../../src/cli/table/flags.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { COMMANDS, type Found, flagsOf } from '../support/completing.ts';
import { callGmn } from '../support/gmn.ts';

const PROJECT = new URL('../../', import.meta.url);
const page = (name: string): string => readFileSync(new URL(name, PROJECT), 'utf8');

/** The flags of a command that a text does not have as words of their own. */
function missing(found: Found, text: string): readonly string[] {
  const words = new Set(text.match(/(?<![\w-])--?[a-zA-Z][\w-]*/g));
  return flagsOf(found).filter((flag) => !words.has(flag));
}

/** The part of a text that begins with a heading and ends before the next one of its kind. */
function sectionOf(text: string, heading: string, next: RegExp): string {
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) return '';
  const rest = text.slice(start + heading.length + 2);
  const end = rest.search(next);
  return end < 0 ? rest : rest.slice(0, end);
}

describe.each(COMMANDS.map((found) => [found.path, found] as const))('%s', (path, found) => {
  test('has every flag, and what it does, in help, docs and completion', () => {
    const help = helpText(found.command, path);
    expect(missing(found, help)).toEqual([]);
    expect(help).toContain(found.command.summary);
    const docs = sectionOf(page('docs/cli.md'), `## ${path.replaceAll('-', ' ')}`, /^## /m);
    expect(docs).toBe(`\n\`\`\`\n${help}\`\`\`\n${docs.endsWith('\n\n') ? '\n' : ''}`);
    const planned = completionPlan(ROOT).find((command) => command.path === path);
    expect(planned?.flags.flatMap(({ names }) => names)).toEqual(flagsOf(found));
  });

  test('has every flag in the manual page', () => {
    const plain = manPage(ROOT, '1.2.3').replaceAll('\\-', '-').replaceAll('\\(aq', "'").replaceAll('\\(ti', '~');
    const own =
      path === 'gmn' ? sectionOf(plain, '.SH OPTIONS', /^\.SH /m) : sectionOf(plain, `.SS ${path}`, /^\.S[SH] /m);
    const common = path === 'gmn' ? '' : `--help -h --version -v ${APP_FLAGS.map(shortAndLong).join(' ')}`;
    expect(missing(found, `${own} ${common}`)).toEqual([]);
    if (path !== 'gmn') expect(own).toContain(found.command.summary);
  });
});

function shortAndLong(flag: { readonly long: string; readonly short?: string }): string {
  return flag.short === undefined ? `--${flag.long}` : `-${flag.short} --${flag.long}`;
}

const SHORT = COMMANDS.filter(({ command }) => command.essentials !== undefined);

test.for(SHORT.map(({ path }) => path))(
  '%s -h fits a terminal of 80 by 24, and names flags that exist',
  async (path, t) => {
    const found = SHORT.find((each) => each.path === path);
    const { stdout, stderr, exitCode } = await callGmn(t, [...path.split(' ').slice(1), '-h']);
    expect([stdout, stderr, exitCode]).toEqual([found && shortHelpText(found.command, path), '', 0]);
    const lines = stdout.split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const names = found?.command.flags.map(({ long }) => long);
    const essentials = Object.keys(found?.command.essentials ?? {});
    expect(essentials).toHaveLength(10);
    for (const long of essentials) expect(names).toContain(long);
    for (const { name } of found?.command.subcommands ?? []) expect(stdout).toMatch(new RegExp(`[ ]${name}(?:,|\\n)`));
  },
);

test('-h is short and --help is not, whatever else is on the line', async (t) => {
  expect((await callGmn(t, ['-q', '-h'])).stdout).toBe(shortHelpText(ROOT, 'gmn'));
  expect((await callGmn(t, ['-q', '--help', '-h'])).stdout).toBe(helpText(ROOT, 'gmn'));
});

test('every flag of a prompt, a chat and a batch is under one heading, unless it is for every command', () => {
  const flags = SHORT.flatMap(({ command }) => command.flags);
  const headings = new Map(flags.map(({ long, heading }) => [long, heading]));
  expect(flags.filter(({ long, heading }) => headings.get(long) !== heading)).toEqual([]);
  const general = flags.filter(({ heading }) => heading === undefined).map(({ long }) => long);
  expect([...new Set(general)].sort()).toEqual([...APP_FLAGS, QUIET_FLAG].map(({ long }) => long).sort());
});

test('every command is in the list of the one above it', () => {
  for (const { path, command } of COMMANDS) {
    const help = helpText(command, path);
    for (const { name, summary } of command.subcommands ?? []) {
      expect(help.replace(/\s+/g, ' ')).toContain(` ${name} ${summary}`);
    }
  }
});

test('the package has the manual page, which groff takes without a word (skipped where there is no groff)', (t) => {
  const { man: mans, version } = JSON.parse(page('package.json'));
  const [man, ...others] = mans;
  expect(others).toEqual([]);
  expect(page(man)).toBe(manPage(ROOT, version));
  expect(/^[\n\x20-\x7e]*$/.test(page(man))).toBe(true);
  const file = fileURLToPath(new URL(man, PROJECT));
  const groff = spawnSync('groff', ['-man', '-Tascii', '-ww', '-z', file], { encoding: 'utf8' });
  if (groff.error !== undefined) return t.skip();
  expect([groff.status, groff.stderr]).toEqual([0, '']);
});

import { expect, test } from 'vitest';
import { printReport } from '../../src/app/report.ts';
import { run as configList } from '../../src/commands/config/list.ts';
import { run as models } from '../../src/commands/models.ts';
import { run as sessionsList } from '../../src/commands/sessions/list.ts';
import type { App } from '../../src/core/app.ts';
import type { Out } from '../../src/core/io.ts';
import { measureWidth } from '../../src/core/text/width.ts';
import { type Place, place } from '../config/place.ts';

/** The same App, its stdout another. */
function appWith({ app }: Place, out: Partial<Out>): App {
  return { ...app, io: { ...app.io, out: { ...app.io.out, write: app.io.out.write, ...out } } };
}

test('gmn models has one line for a model in 80 columns, its note below', async (t) => {
  const here = place(t);
  await models({ args: [] }, appWith(here, { isTerminal: true }));
  const rows = here.output().out.trimEnd().split('\n');
  expect(rows.slice(0, 7)).toEqual([
    'MODEL                               STATUS    THINKING',
    '',
    'For most work',
    'gemini-flash-latest                 moving    low medium high',
    '    the newest flash',
    'gemini-4-hydrogen                   stable    low medium high xhigh',
    '    has a free tier; reads Office files',
  ]);
  expect(rows.slice(rows.indexOf('Shut down'))).toEqual([
    'Shut down',
    'gemini-3.1-flash-lite-preview       retired   minimal low medium high',
    '    shut down in May 2026',
    'gemini-3-pro-preview                retired   low high',
    '    shut down in March 2026; the Gemini API answers with gemini-3.1-pro-preview',
    '',
    'ALIAS           BACKEND      MODEL',
    'gemini-3-pro    all          gemini-3-pro-preview',
    'gemini-3-flash  gemini-api   gemini-3-flash-preview',
    '                vertex       gemini-3-flash-preview',
    '                code-assist  gemini-3-flash',
    'pro             gemini-api   gemini-pro-latest',
    '                vertex       gemini-3.1-pro-preview',
    '                code-assist  gemini-2.5-pro',
    'flash           gemini-api   gemini-flash-latest',
    '                vertex       gemini-3.8-flash',
    '                code-assist  gemini-3-flash',
    'flash-lite      gemini-api   gemini-flash-lite-latest',
    '                vertex       gemini-3.1-flash-lite',
    '                code-assist  gemini-3.1-flash-lite',
    'auto, auto-…    all          the default',
    '',
    'Default: gemini-2.5-flash, being retired; where it is gone, flash answers',
    'Limits, tiers and backends: in a wider window, or with --json',
    'All models, since there is no credential; see: gmn auth status',
  ]);
});

test('gmn config list puts the source below a setting that leaves no room for it', async (t) => {
  const here = place(t, { 'home/.gemini/settings.json': '{"model":{"name":"m"}}' });
  const file = here.path('home/.gemini/settings.json');
  const columns = file.length + 19;
  await configList({ args: [] }, appWith(here, { isTerminal: true, columns }));
  expect(here.output().out).toBe(`model.name = "m"\n    # ${file}\nsecurity.folderTrust.enabled = true  # gmn\n`);
});

test.for([80, 60])(
  'a session is one line in %d columns, and a title that is cut keeps its quotes',
  async (columns, t) => {
    const here = place(t);
    const session = (digit: string, cwd: string, title: string): readonly [string, string] => {
      const id = `${digit.repeat(8)}-1111-4111-8111-111111111111`;
      const at = '2026-11-20T10:00:00.000Z';
      const lines = [
        { v: 1, type: 'session', id, t: at, cwd, by: 'prompt', gmn: '0.1.0', title },
        { seq: 1, t: at, type: 'prompt', turn: 1, content: { role: 'user', parts: [{ text: title }] } },
      ];
      return [
        `home/.gmn/sessions/20261120T100000Z-${id}.jsonl`,
        lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      ];
    };
    here.write(
      Object.fromEntries([
        session(
          'a',
          '/srv/a/very/long/way/down/to/the/project',
          '京都旅行の計画を立ててください。三日間で回りたいです',
        ),
        session('b', '/srv/b', 'a long question that goes on and on and on and on'),
      ]),
    );
    await sessionsList({ all: true }, appWith(here, { isTerminal: true, columns }));
    const rows = here.output().out.trimEnd().split('\n');
    expect(rows).toHaveLength(3);
    expect(rows.filter((row) => measureWidth(row) > columns)).toEqual([]);
    expect(rows.slice(1).filter((row) => !/"[^"]+…" .*(?:project|\/srv\/b)$/.test(row))).toEqual([]);
  },
);

test('verdicts of ours are coloured where colour may be, and nowhere else', async (t) => {
  const here = place(t);
  const report = { text: '✓ a\n⚠ b\n✗ c ✓\n– d\n', json: {}, notices: [], hasMarks: true } as const;
  await printReport(report, {}, appWith(here, { isStyled: true }));
  const green = '\u001b[32m✓\u001b[39m a\n\u001b[35m⚠\u001b[39m b\n\u001b[31m✗\u001b[39m c ✓\n– d\n';
  expect(here.output().out).toBe(green);
  await printReport(report, {}, appWith(here, { isStyled: false, isTerminal: true }));
  expect(here.output().out).toBe(report.text);
});

import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { type Schema, Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import { BUILT_IN_FLAGS, findIdleFlags, TOPICS } from '../../src/cli/help.ts';
import { COMMON_FLAGS } from '../../src/cli/table/flags.ts';
import { ROOT } from '../../src/cli/table/root.ts';
import { listEnvironment } from '../../src/cli/topics.ts';
import { listSettingKeys } from '../../src/config/keys.ts';
import { OUTPUT_FORMATS } from '../../src/core/app.ts';
import { FAULTS } from '../../src/core/error.ts';
import type { Flag } from '../../src/core/flag.ts';
import { TOOLS } from '../../src/tools/list.ts';
import { COMMANDS, flagsOf } from '../support/completing.ts';
import { callGmn, place, runGmn, runGmnIn } from '../support/gmn.ts';

const SCHEMAS = new URL('../../docs/schemas/', import.meta.url);
const readSchema = (file: string) => JSON.parse(readFileSync(new URL(file, SCHEMAS), 'utf8'));
const text = readFileSync(new URL('../../dist/help.json', import.meta.url), 'utf8');
const document = JSON.parse(text);

/** Readers ignore keys that they do not know; the document has none that its schema does not describe. */
function forbidOtherKeys(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forbidOtherKeys);
  if (typeof schema !== 'object' || schema === null) return schema;
  const below = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, forbidOtherKeys(value)]));
  return schema && 'properties' in schema && 'type' in schema ? { additionalProperties: false, ...below } : below;
}

const strict = new Validator(forbidOtherKeys(readSchema('help.schema.json')) as Schema, '2020-12');

interface FlagRow {
  readonly names: readonly string[];
  readonly [key: string]: unknown;
}

interface CommandRow {
  readonly path: string;
  readonly flags: readonly FlagRow[];
  readonly globalFlagsWithoutEffect?: readonly string[];
  readonly [key: string]: unknown;
}

const commands: readonly CommandRow[] = document.commands;
const globals: readonly FlagRow[] = document.globalFlags;

function findCommand(path: string): CommandRow {
  const found = commands.find((command) => command.path === path);
  if (found === undefined) throw new Error(`no ${path}`);
  return found;
}

/** A flag as the reader of the document finds it: the command's own, else that of every command. */
function findFlag(path: string, name: string): FlagRow | undefined {
  return [...findCommand(path).flags, ...globals].find(({ names }) => names.includes(name));
}

describe('gmn help --json', () => {
  test('prints what its schema describes, whatever the home, offline and without a key', async (t) => {
    expect(strict.validate(document)).toEqual({ valid: true, errors: [] });
    const broken = place(t, {
      env: { GMN_HOME: '/dev/null/gmn', GEMINI_CLI_HOME: '/dev/null', GMN_OUTPUT_FORMAT: '?' },
    });
    for (const args of [
      ['help', '--json'],
      ['help', '--json', '-q'],
      ['--cwd', '/', 'help', '--json'],
    ]) {
      expect(await runGmnIn(t, broken, args)).toMatchObject({ stdout: text, stderr: '', exitCode: 0 });
    }
  });

  test('has every command, and nothing more', () => {
    expect(commands.map(({ path }) => path)).toEqual(COMMANDS.map(({ path }) => path));
    for (const { path, command } of COMMANDS) {
      expect(findCommand(path)).toMatchObject({
        summary: command.summary,
        ...(command.subcommands && { subcommands: command.subcommands.map(({ name }) => name) }),
        ...(command.defaultSubcommand && { alone: command.defaultSubcommand }),
      });
    }
  });

  test.each(COMMANDS.map((found) => [found.path, found] as const))(
    'has every flag of %s, and nothing more',
    (path, found) => {
      const { flags, globalFlagsWithoutEffect = [] } = findCommand(path);
      const idle = findIdleFlags(found.command).map(({ long }) => `--${long}`);
      expect(globalFlagsWithoutEffect).toEqual(idle);
      const own = new Set(flags.map(({ names }) => names.find((name) => name.startsWith('--'))));
      const others = globals.filter(({ names }) => !names.some((name) => own.has(name) || idle.includes(name)));
      expect([...flags, ...others].flatMap(({ names }) => names).toSorted()).toEqual(flagsOf(found).toSorted());
      for (const flag of found.command.flags) {
        const { long, value, kind, choices, fallback, env, repeatable, needs }: Flag = flag;
        expect(findFlag(path, `--${long}`)).toMatchObject(
          JSON.parse(
            JSON.stringify({
              help: flag.help,
              value,
              type: value && (kind ?? 'string'),
              choices,
              default: fallback,
              env,
              repeatable,
              needs,
            }),
          ),
        );
      }
    },
  );

  test('has the flags of every command once', () => {
    expect(globals.flatMap(({ names }) => names.slice(-1))).toEqual(
      [...COMMON_FLAGS, ...BUILT_IN_FLAGS].map(({ long }) => `--${long}`),
    );
    expect(findCommand('gmn chat').flags.some(({ names }) => names.includes('--debug'))).toBe(false);
    expect(findFlag('gmn embed', '--model')).toMatchObject({ default: 'gemini-embedding-001' });
  });

  test.for([
    ['gmn', '--yolo', { conflicts: ['--approval-mode default', '--approval-mode auto_edit', '--approval-mode plan'] }],
    ['gmn', '--no-stdin', { conflicts: ['--stdin'] }],
    ['gmn', '--no-render', { conflicts: ['--render always'] }],
    ['gmn', '--resume', { valueIsOptional: true, value: 'session' }],
    ['gmn', '--verify', { needs: ['tools'], noEffectWith: ['--count-tokens'], withoutEffect: 'error' }],
    ['gmn', '--include-directories', { needs: ['tools'], withoutEffect: 'notice' }],
    ['gmn mcp add', '--trust', { names: ['--trust'] }],
  ] as const)('says of %s %s what goes with it', ([path, name, facts]) => {
    expect(findFlag(path, name)).toMatchObject(facts);
  });

  test('says nothing of flags that a command does not have', () => {
    for (const { path, flags } of commands) {
      const lines = flags.flatMap(
        ({ conflicts = [], noEffectWith = [] }) => [conflicts, noEffectWith].flat() as string[],
      );
      for (const name of lines.flatMap((line) => line.match(/(?<!\S)--?[a-z-]+/g) ?? []))
        expect([path, name, findFlag(path, name) !== undefined]).toEqual([path, name, true]);
    }
    expect(findFlag('gmn batch', '--temperature')).not.toHaveProperty('noEffectWith');
    expect(findFlag('gmn', '--approval-mode')).not.toHaveProperty('conflicts');
  });

  test('says which arguments a command takes', () => {
    expect(findCommand('gmn mcp call')).toMatchObject({
      arguments: [
        { name: 'server', required: true, repeatable: false },
        { name: 'tool', required: true, repeatable: false },
        { name: 'k=v', required: false, repeatable: true },
      ],
    });
    expect(findCommand('gmn undo')).not.toHaveProperty('arguments');
    for (const { path, command } of COMMANDS) {
      const { arguments: taken = [] } = findCommand(path) as { arguments?: { name: string }[] };
      const words = (command.args ?? '').split(' ').filter(Boolean);
      expect(taken.map(({ name }) => name)).toEqual(words.map((word) => word.replace(/[<>[\]]|\.{3}/g, '')));
    }
  });

  test('has every variable, setting, tool, topic, exit code, format and schema', () => {
    const variables = listEnvironment(ROOT).flatMap(([, rows]) => rows.flatMap(({ names }) => names));
    expect(document.environment.map(({ name }: { name: string }) => name)).toEqual(variables);
    expect(new Set(variables).size).toBe(variables.length);
    expect(document.settings.map(({ key }: { key: string }) => key)).toEqual(listSettingKeys());
    expect(document.tools.map(({ name }: { name: string }) => name)).toEqual(TOOLS.map(({ name }) => name));
    expect(document.topics.map(({ name }: { name: string }) => name)).toEqual(Object.keys(TOPICS));
    expect(document.outputFormats.map(({ name }: { name: string }) => name)).toEqual(OUTPUT_FORMATS);
    const [, no, unsure, ...failures] = document.exitCodes;
    expect([no.code, unsure.code]).toEqual([10, 11]);
    expect(failures).toMatchObject(Object.values(FAULTS).map(({ exitCode, type }) => ({ code: exitCode, type })));
    const files = readdirSync(SCHEMAS).filter((file) => file !== 'help.schema.json');
    expect(document.schemas).toEqual(
      Object.fromEntries(files.map((file) => [file.replace('.schema.json', ''), readSchema(file)])),
    );
    const described = OUTPUT_FORMATS.filter((name) => files.includes(`${name}.schema.json`));
    expect(document.outputFormats.flatMap(({ schema }: { schema?: string }) => schema ?? [])).toEqual(described);
    expect(described).toContain('json');
  });

  test('has defaults where there are any', () => {
    expect(document.environment).toContainEqual({
      name: 'GMN_IDLE_TIMEOUT',
      group: 'A run',
      meaning: 'how long a request may be silent',
      default: '120s',
    });
    expect(document.environment).toContainEqual(expect.objectContaining({ name: 'GMN_MODEL', flag: '--model' }));
    expect(document.settings).toContainEqual(expect.objectContaining({ key: 'sessions.retention', default: '30d' }));
    expect(document.tools).toContainEqual(
      expect.objectContaining({
        name: 'run_shell_command',
        approval: { default: 'ask', auto_edit: 'ask', plan: 'not offered', yolo: 'run' },
      }),
    );
  });

  test('has texts that stand on their own: no links, no pages, no row before or after', () => {
    const { schemas: _, ...own } = document;
    expect(JSON.stringify(own).match(/.{0,40}(?:\]\(|\.md#|see below|"the same[";,]|the next"|`)/g)).toBeNull();
  });

  test('has neither the values nor the places of the machine that built it', () => {
    expect([text.includes(process.cwd()), text.includes(homedir())]).toEqual([false, false]);
    expect(text.match(/.{0,40}(?:AIza|\/home\/|\/Users\/|\\\\Users|node_modules)/g)).toBeNull();
  });

  test('is a line for each row', () => {
    expect(text.split('\n').filter((line) => line.startsWith('{"path":'))).toHaveLength(commands.length);
  });
});

describe('gmn help <command> --json', () => {
  test.for([
    [['mcp'], COMMANDS.map(({ path }) => path).filter((path) => /^gmn mcp(?: |$)/.test(path))],
    [['mcp', 'add'], ['gmn mcp add']],
    [['auth'], ['gmn auth', 'gmn auth status', 'gmn auth set-key', 'gmn auth logout']],
    [['help'], ['gmn help']],
  ] as const)('has %j and what is below it', async ([words, paths], t) => {
    const { stdout, stderr, exitCode } = await callGmn(t, ['help', ...words, '--json']);
    expect([stderr, exitCode]).toEqual(['', 0]);
    const part = JSON.parse(stdout);
    expect(strict.validate(part)).toEqual({ valid: true, errors: [] });
    expect(part).toEqual({ version: document.version, globalFlags: globals, commands: paths.map(findCommand) });
    expect((await callGmn(t, ['help', '--json', ...words])).stdout).toBe(stdout);
  });

  test.for([
    [['keys'], '"keys" is a topic, which is text', 'Run: gmn help keys'],
    [['mcp', 'ad'], 'there is no command "mcp ad"', 'Did you mean: gmn help mcp add'],
    [['mcp', 'server'], 'there is no command "mcp server"', 'Did you mean: gmn help mcp serve'],
    [['qqqqqqqq'], 'there is no command "qqqqqqqq"', 'Run: gmn help'],
  ] as const)('%j is an error that a program can read', async ([words, message, suggestion], t) => {
    const { stdout, stderr, exitCode } = await callGmn(t, ['help', ...words, '--json']);
    expect([JSON.parse(stdout), stderr, exitCode]).toEqual([
      { error: { code: 1, type: 'UsageError', message, suggestion } },
      '',
      1,
    ]);
  });
});

test('a prompt that says "help --json" is a prompt', async (t) => {
  expect((await runGmn(t, ['--demo', 'help --json'])).stdout).not.toContain('"commands"');
  const { stdout, exitCode } = await runGmn(t, ['help --json'], { env: { GMN_DEMO: '1' } });
  expect([exitCode, stdout.includes('"commands"')]).toEqual([0, false]);
});

test('gmn help names it', async (t) => {
  expect((await callGmn(t, ['help'])).stdout).toContain('gmn help --json\n');
});

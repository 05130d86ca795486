import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findHabit, HABITS } from '../../../src/chat/commands/habits.ts';
import { COMMANDS } from '../../../src/chat/commands/table.ts';
import { BUILT_IN_TEMPLATES } from '../../../src/config/builtin-templates.ts';

const OWN = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
const TEMPLATES = Object.keys(BUILT_IN_TEMPLATES);

/** As their documentation lists them in autumn 2026, without what only their own services have. */
const OTHERS = {
  claude: `add-dir agents bashes branch bug checkpoint clear compact config context continue copy cost diff doctor effort exit export fast
    feedback fork help hooks ide init install-github-app keybindings login logout mcp memory model new output-style plan plugin pr-comments
    privacy-settings quit release-notes rename reset resume review rewind sandbox security-review settings skills stats status statusline
    stop tasks terminal-setup theme todos undo upgrade usage vim`,
  codex: `agent agents approvals apps clean clear compact copy debug-config diff exit fast feedback fork hooks ide init keymap logout mcp
    memories mention model new personality plan plugins ps quit rename resume review sandbox settings skills status statusline stop subagents
    theme title usage vim`,
  gemini: `? about agents auth bug chat clear commands compact compress copy dir directory docs editor exit extensions footer help hooks ide
    init mcp memory model plan policies privacy quit restore resume rewind settings setup-github shells shortcuts skills stats summarize
    terminal-setup theme tools upgrade usage vim`,
};

test.each(Object.entries(OTHERS))('every slash command of %s works, or says what does', (_, names) => {
  const unknown = names
    .trim()
    .split(/\s+/)
    .filter((name) => ![...OWN, ...TEMPLATES].includes(name) && findHabit(name, '') === undefined);
  expect(unknown).toEqual([]);
});

test('what another tool’s command is here is a command, and each has either that or an advice', () => {
  for (const { names, entry, advice } of HABITS) {
    const target = entry?.slice(1).split(' ')[0] ?? '';
    const isKnown = [...OWN, ...TEMPLATES].includes(target);
    expect([names, isKnown, advice?.endsWith('.') ?? false]).toEqual([names, entry !== undefined, entry === undefined]);
  }
});

test('no name is there twice, is one of gmn’s own, or begins one: the menu would take that instead', () => {
  const names = HABITS.flatMap((habit) => habit.names);
  expect(new Set(names).size).toBe(names.length);
  const single = names.filter((name) => !name.includes(' '));
  expect(single.filter((name) => [...OWN, ...TEMPLATES].some((own) => own.startsWith(name)))).toEqual([]);
});

test('what follows the name follows the entry', () => {
  const name = fc.constantFrom(...HABITS.flatMap(({ names }) => names));
  fc.assert(
    fc.property(name, fc.string(), (name, words) => {
      const [first = '', second = ''] = name.split(' ');
      const rest = words.trim().replace(/^(?=\S)/, 'x');
      const habit = HABITS.find(({ names }) => names.includes(name));
      const found = findHabit(first, `${second} ${rest}`.trim());
      expect(found?.entry).toBe(habit?.entry === undefined ? undefined : `${habit.entry} ${rest}`.trim());
    }),
  );
});

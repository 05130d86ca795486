import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPrefix } from '../../src/approval/grants.ts';
import { ATTACKS, NOT_OFFERED, ORDINARY } from './command-matrix.ts';
import { commandScene } from './command-scene.ts';

test.each([
  ['ordinary commands', ORDINARY],
  ['attacks', ATTACKS],
])('what begins with allowed words runs if all of it is known: %s', async (_, rows) => {
  const { decide } = await commandScene();
  const decided = rows.map(async ([allowed, later, wanted, why]) => {
    const decision = await decide(allowed, later).catch((thrown: Error) => thrown.message);
    return decision === wanted ? [] : [`${allowed} | ${later} | ${why}: ${decision}`];
  });
  expect((await Promise.all(decided)).flat()).toEqual([]);
});

test('what instructs models may be read by words that were allowed, and not be changed', async () => {
  const { root, workspace, decide } = await commandScene();
  workspace.protect([join(root, 'tool.py')]);
  expect(await decide('cat', 'cat tool.py')).toBe('run');
  expect(await decide('touch', 'touch a.txt')).toBe('run');
  for (const command of ['touch tool.py', 'git mv a.txt tool.py', 'black tool.py', 'mytool tool.py'])
    expect([command, await decide(command.split(' ', 1)[0] as string, command)]).toEqual([command, 'ask']);
});

test('the matrix has at least 300 pairs, each once', () => {
  const pairs = [...ORDINARY, ...ATTACKS].map(([allowed, later]) => `${allowed} ${later}`);
  expect(pairs.length).toBeGreaterThan(300);
  expect(new Set(pairs).size).toBe(pairs.length);
});

test('p is not offered for what runs other programs or code, or is not known to be harmless', async () => {
  const { toCall } = await commandScene();
  const offered = await Promise.all(NOT_OFFERED.map(async (line) => [line, findPrefix(await toCall(line))]));
  expect(offered).toEqual(NOT_OFFERED.map((line) => [line, undefined]));
});

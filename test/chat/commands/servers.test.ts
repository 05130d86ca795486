import { expect, test } from 'vitest';
import type { Chat } from '../../../src/chat/chat.ts';
import { MCP } from '../../../src/chat/commands/servers.ts';
import type { UsedServer } from '../../../src/engine/tools/servers/servers.ts';

test('/mcp lists the tools that the model does not have since they changed, and the way to allow them', async () => {
  const all: readonly UsedServer[] = [
    { name: 'a', state: 'ready', tools: ['add'], withheld: ['echo', 'fetch'], isUsable: true },
    { name: 'b', state: 'ready', tools: [], withheld: ['echo'], isUsable: true },
    { name: 'c', state: 'disabled', tools: [], withheld: [], isUsable: false },
  ];
  const listed: unknown[] = [];
  const view = { list: async (rows: unknown) => void listed.push(rows) };
  const chat = { run: { facts: { servers: { all } } }, view };
  await MCP.run('', chat as unknown as Chat, new AbortController().signal);
  const look = (name: string) => `(changed; to review and allow it, run in a terminal: gmn mcp tools ${name})`;
  expect(listed).toEqual([
    [
      ['a', `ready · 1 tool: add · not offered: echo, fetch ${look('a')}`],
      ['b', `ready · not offered: echo ${look('b')}`],
      ['c', 'disabled'],
    ],
  ]);
});

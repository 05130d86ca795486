import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Part, StoredContent } from '../../src/core/content.ts';
import type { TurnRecord } from '../../src/core/history.ts';
import type { Clock } from '../../src/core/io.ts';
import type { Session, SessionStore } from '../../src/core/session.ts';
import { type LocalStore, type StoreOptions, sessionStore } from '../../src/session/store.ts';
import { parseLines } from '../support/gmn.ts';
import { codePoint } from '../support/properties.ts';
import { temporary } from '../support/temporary.ts';

export const START = Date.UTC(2026, 4, 1, 12);

export interface Place {
  readonly home: string;
  readonly store: LocalStore;
  /** What was said to the person. */
  readonly said: string[];
  /** Time, which stands still until it is moved, or somebody sleeps. */
  readonly time: { now: number };
}

/** A store in a home of its own, or in one that is there. */
export function place(home = temporary(), changes: Partial<StoreOptions> = {}): Place {
  const said: string[] = [];
  const time = { now: START };
  const clock: Clock = {
    now: () => time.now,
    sleep: async (ms) => {
      time.now += ms;
    },
  };
  const store = sessionStore({ home, clock, version: '1.2.3', report: (message) => said.push(message), ...changes });
  return { home, store, said, time };
}

export function files(home: string, folder = 'sessions'): readonly string[] {
  const path = join(home, folder);
  return existsSync(path) ? readdirSync(path).sort() : [];
}

/** The only session file of a home. */
export function onlyFile(home: string): string {
  const [file, ...others] = files(home).filter((name) => name.endsWith('.jsonl'));
  if (file === undefined || others.length > 0) throw new Error('there is not exactly one session');
  return join(home, 'sessions', file);
}

export function linesOf(file: string): readonly Record<string, unknown>[] {
  return parseLines(readFileSync(file, 'utf8'));
}

export function prompt(text: string): TurnRecord {
  return { kind: 'prompt', content: { role: 'user', parts: [{ text }] } };
}

export function reply(text: string, model = 'gemini-test'): TurnRecord {
  const content: StoredContent = { role: 'model', parts: [{ text }], origin: 'here' };
  return { kind: 'reply', content, usage: { totalTokenCount: 3 }, model, finishReason: 'STOP' };
}

export const IMAGE = Buffer.alloc(70_000, 'pixels');

/** A prompt with a picture that is kept apart. */
export function picture(data = IMAGE.toString('base64')): TurnRecord {
  const parts = [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data } }];
  return { kind: 'prompt', content: { role: 'user', parts } };
}

/** What somebody else, without a lock, would add to a session. */
export function intrude(file: string, at = START): void {
  appendFileSync(file, `${JSON.stringify({ seq: 9, t: new Date(at).toISOString(), type: 'name', turn: 1 })}\n`);
}

/** A session with so many exchanges, closed. */
export async function saved(store: SessionStore, texts: readonly string[], name?: string): Promise<string> {
  const session = await store.create({ cwd: '/work', by: 'chat', name });
  await talk(session, texts);
  await session.close();
  return session.id;
}

export async function talk(session: Session, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    await session.append(prompt(text));
    await session.append(reply(`${text}!`));
  }
}

/** Everything a session holds, read by another store. */
export async function contentsOf(home: string, reference = 'last'): Promise<readonly StoredContent[]> {
  const { store } = place(home);
  const { records } = await store.read(await store.find(reference));
  return records.map(({ content }) => content);
}

const text = fc.oneof(fc.string(), fc.string({ unit: codePoint }));
const wild = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: codePoint }));

const part = fc.oneof(
  fc.record({ text }),
  fc.record({ text, thought: fc.boolean(), thoughtSignature: fc.base64String() }),
  fc.record({ functionCall: fc.record({ name: text, args: wild }), thoughtSignature: fc.base64String() }),
  fc.record({ functionResponse: fc.record({ name: text, response: wild }) }),
  fc.record({ inlineData: fc.record({ mimeType: fc.constant('image/png'), data: fc.base64String() }) }),
  fc.record({ isNew: fc.jsonValue(), text }),
);

const contentOf = (role: 'user' | 'model') =>
  fc.record({ parts: fc.array(part, { maxLength: 3 }), origin: text }).map(({ parts, origin }): StoredContent => {
    // As it would have come off the wire.
    const plain: readonly Part[] = JSON.parse(JSON.stringify(parts));
    return { role, parts: plain, ...(role === 'model' ? { origin } : {}) };
  });

const usage = fc.record({ promptTokenCount: fc.nat(), totalTokenCount: fc.nat() }, { requiredKeys: [] });

/** Any record, holding anything that can come off the wire. */
export const anyRecord: fc.Arbitrary<TurnRecord> = fc.oneof(
  contentOf('user').map((content): TurnRecord => ({ kind: 'prompt', content })),
  contentOf('user').map((content): TurnRecord => ({ kind: 'answer', content })),
  fc
    .record({ content: contentOf('model'), usage, model: fc.constantFrom('a', 'b') })
    .map((said): TurnRecord => ({ kind: 'call', ...said })),
  fc
    .record({ content: contentOf('model'), usage, model: fc.constantFrom('a', 'b') })
    .map((said): TurnRecord => ({ kind: 'reply', ...said, finishReason: 'STOP' })),
);

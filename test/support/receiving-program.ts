import { getHeapSpaceStatistics } from 'node:v8';
import { sendHttp } from '../../src/platform/http.ts';

// Receives an answer, then makes and keeps so much that V8 would like to have more room for what is young; prints both sizes.
const timers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
const send = sendHttp({ timers, env: {}, clock: { now: () => 0 } });
const url = new URL(process.argv[2] ?? '');
const { body } = await send({ method: 'GET', url, headers: {} }, new AbortController().signal);
let received = 0;
for await (const chunk of body) received += chunk.length;
// V8 takes the second half of its room with the first collection, which a short answer does not come to.
const garbage: unknown[] = [];
for (let count = 0; count < 100_000; count += 1) garbage[0] = { count };
const before = youngBytes();
const kept: unknown[] = [];
for (let count = 0; count < 500_000; count += 1) kept[count] = { count };
console.log(JSON.stringify({ received, kept: kept.length, before, after: youngBytes() }));

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

import { getHeapSpaceStatistics } from 'node:v8';
import { createHttpClient } from '../../src/platform/http/send.ts';

// Receives an answer, then creates and keeps so many objects that V8 would enlarge its young generation; prints that generation's size.
const timers = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 };
const { send } = createHttpClient({ timers, env: {}, clock: { now: () => 0 } });
const url = new URL(process.argv[2] ?? '');
const { body } = await send({ method: 'GET', url, headers: {} }, new AbortController().signal);
let received = 0;
for await (const chunk of body) received += chunk.length;
const kept: unknown[] = [];
for (let count = 0; count < 500_000; count += 1) kept[count] = { count };
const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
console.log(JSON.stringify({ received, kept: kept.length, youngBytes: young?.space_size }));

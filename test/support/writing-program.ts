import { processIo } from '../../src/platform/terminal/io.ts';

// Writes to both streams in one turn of the event loop, more than is buffered, and again in the next.
const { out, err, flush } = processIo('never', process.env);
await out.write('1');
await out.write('2');
await err.write('3');
await out.write('4');
for (let count = 0; count < 3; count += 1) await out.write('x'.repeat(40_000));
await err.write('5');
await out.write('6');
await flush();
await out.write('7');
await err.write('8');
await flush();

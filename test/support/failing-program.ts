import { processIo } from '../../src/platform/terminal/io.ts';

// Flushes in the same turn of the event loop as the write: no event has reported the failure yet.
const { out, flush } = processIo('never', process.env);
out.write('lost').catch(() => {});
process.exitCode = await flush().then(
  () => 0,
  () => 7,
);

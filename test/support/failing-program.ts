import { processIo } from '../../src/platform/terminal/io.ts';

// Asks whether all has left in the same turn of the event loop in which it was written: the failure is told by no event yet.
const { out, flush } = processIo('never', process.env);
out.write('lost').catch(() => {});
process.exitCode = await flush().then(
  () => 0,
  () => 7,
);

import { tryParseJson } from '../core/json.ts';
import { parseFaults } from '../demo/fault.ts';
import { parseScript } from '../demo/script.ts';
import { startDemo } from '../demo/server.ts';
import { systemClock } from '../platform/runtime/clock.ts';
import { toGmnError } from './error.ts';
import type * as Public from './gmn-demo.d.ts';

/** Throws GmnError `usage` for an unknown fault, a wrong script, or a port that is taken. */
export async function demo({ faults = [], script, port }: Public.DemoOptions = {}): Promise<Public.DemoServer> {
  const requests: Public.DemoRequest[] = [];
  try {
    const { url, close } = await startDemo({
      ...{ clock: systemClock, port, faults: parseFaults(faults) },
      script: script === undefined ? undefined : parseScript(script, 'script'),
      onRequest: ({ method, path, headers, body }) =>
        void requests.push({ method, path, headers, body: tryParseJson(body) ?? body }),
    });
    return { url, requests, close, [Symbol.asyncDispose]: close };
  } catch (thrown) {
    throw toGmnError(thrown);
  }
}

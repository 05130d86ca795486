import { raceWithAbort } from '../../../core/async.ts';
import { AppError } from '../../../core/error.ts';
import { sanitize } from '../../../core/text/terminal.ts';
import { type HttpServer, listen, type ServeHandler } from '../../../platform/http/server.ts';
import { createDeadline } from '../../../platform/runtime/clock.ts';

export type Callback = Awaited<ReturnType<typeof openCallback>>;

const SIGN_IN_MS = 300_000;

/** `wanted` was used before; if its port is taken, another one is used, unless `isFixed`. Throws AppError `usage`. */
export async function openCallback(wanted: string | undefined, { isFixed }: { readonly isFixed: boolean }) {
  const { port, pathname, hostname } = parseRedirectUrl(wanted);
  let expected: { readonly state: string; readonly settle: (query: URLSearchParams) => void } | undefined;
  const isExpected = (path: string, query: URLSearchParams): boolean =>
    path === pathname && expected !== undefined && query.get('state') === expected.state;
  const handler: ServeHandler = async ({ method, path, query }, reply) => {
    const isOurs = method === 'GET' && isExpected(path, query);
    const text = isOurs ? 'You can close this page and go back to the terminal.' : 'Nothing here.';
    reply.send(
      isOurs ? 200 : 404,
      { 'content-type': 'text/html; charset=utf-8', connection: 'close' },
      `<!doctype html><title>gmn</title><p>${text}</p>`,
    );
    if (isOurs) expected?.settle(query);
  };
  const server = await listenOn(port, handler, isFixed);
  return {
    redirectUrl: `http://${hostname}:${new URL(server.url).port}${pathname}`,
    /** The query of the redirect with this state; any other request gets 404. Throws AppError `mcp`, also after five minutes. */
    async wait(state: string, signal: AbortSignal): Promise<URLSearchParams> {
      const deadline = createDeadline(
        signal,
        SIGN_IN_MS,
        () => new AppError('mcp', 'nobody signed in within 5 minutes'),
      );
      try {
        const query = await raceWithAbort(
          new Promise<URLSearchParams>((settle) => {
            expected = { state, settle };
          }),
          deadline.signal,
        );
        const error = query.get('error');
        if (error !== null) throw new AppError('mcp', `the sign-in was refused: ${sanitize(error.slice(0, 100))}`);
        return query;
      } finally {
        deadline.clear();
      }
    },
    /** For an address pasted by hand. False if it does not belong to the sign-in in progress. */
    accept(address: string): boolean {
      const pasted = address.trim();
      const url = URL.canParse(pasted) ? new URL(pasted) : undefined;
      const isOurs = url !== undefined && isExpected(url.pathname, url.searchParams);
      if (isOurs) expected?.settle(url.searchParams);
      return isOurs;
    },
    close: server.close,
  };
}

function parseRedirectUrl(wanted: string | undefined) {
  const url = wanted !== undefined && URL.canParse(wanted) ? new URL(wanted) : new URL('http://127.0.0.1/callback');
  return { port: Number(url.port), pathname: url.pathname, hostname: url.hostname };
}

async function listenOn(port: number, handler: ServeHandler, isFixed: boolean): Promise<HttpServer> {
  try {
    return await listen({ port, handler });
  } catch (thrown) {
    if (port === 0 || isFixed) throw thrown;
    return listen({ port: 0, handler });
  }
}

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'vitest';

export interface TokenServer {
  readonly url: string;
  /** The forms that arrived, in order. */
  readonly forms: readonly Readonly<Record<string, string>>[];
  /** Resolves when that many forms have arrived. */
  seen(count: number): Promise<void>;
}

export type Answer = (response: ServerResponse, form: Readonly<Record<string, string>>, count: number) => void;

/** A token endpoint on loopback. */
export async function tokenServer(t: Pick<TestContext, 'onTestFinished'>, answer: Answer): Promise<TokenServer> {
  const forms: Readonly<Record<string, string>>[] = [];
  let wake: () => void = () => {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString('utf8')));
    forms.push(form);
    wake();
    answer(response, form, forms.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    forms,
    async seen(count) {
      while (forms.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** A proper JSON answer. */
export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Grants each refresh token once, and hands out a new one with it; a second use is refused. */
export function rotating(): Answer {
  const spent = new Set<string>();
  return (response, form) => {
    const used = form.refresh_token ?? '';
    if (spent.has(used)) return json(response, 400, { error: 'invalid_grant' });
    spent.add(used);
    json(response, 200, { access_token: `ya29.granted-${spent.size}`, expires_in: 3599, refresh_token: `${used}+` });
  };
}

/** Grants without naming a refresh token, as Google does; a second use within the test is refused all the same. */
export function granting(): Answer {
  let count = 0;
  return (response) => {
    count += 1;
    if (count > 1) return json(response, 400, { error: 'invalid_grant' });
    json(response, 200, { access_token: 'ya29.granted-1', expires_in: 3599, token_type: 'Bearer' });
  };
}

import type { OpenLink } from './link.ts';
import { openHttp, openSse } from './transport/http.ts';
import { openStdio } from './transport/stdio.ts';

export type TransportKind = 'stdio' | 'http' | 'sse';

/** The ways to a server, by the kind its definition names. */
export const transports: Readonly<Record<TransportKind, OpenLink>> = {
  stdio: openStdio,
  http: openHttp,
  sse: openSse,
};

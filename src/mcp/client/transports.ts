import { openHttp, openSse } from './http.ts';
import type { OpenLink } from './link.ts';
import { openStdio } from './stdio.ts';

export type TransportKind = 'stdio' | 'http' | 'sse';

/** The ways to a server, by the kind its definition names. */
export const transports: Readonly<Record<TransportKind, OpenLink>> = {
  stdio: openStdio,
  http: openHttp,
  sse: openSse,
};

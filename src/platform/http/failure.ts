import { AppError } from '../../core/error.ts';
import { formatDuration } from '../../core/text/format.ts';

export interface Peer {
  /** `host:port`, preceded by `proxy ` if it is one. Never credentials. */
  readonly name: string;
  readonly hostname: string;
  readonly advice: string;
}

export type Phase = 'connect' | 'headers' | 'body';

export function toPeer(url: URL): Peer {
  return { name: formatAddress(url), hostname: url.hostname, advice: 'Check the network connection and try again.' };
}

export function toProxyPeer(url: URL): Peer {
  return {
    name: `proxy ${formatAddress(url)}`,
    hostname: `proxy ${url.hostname}`,
    advice: 'Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY lists hosts to reach without a proxy.',
  };
}

function formatAddress(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`;
}

/** `isUnsent`: nothing of the request has left this machine. */
export function timeoutError(phase: Phase, ms: number, peer: Peer, isUnsent?: true): AppError {
  const time = formatDuration(ms);
  switch (phase) {
    case 'connect':
      return new AppError('api', `connection to ${peer.name} timed out after ${time}`, {
        hint: peer.advice,
        retry: { atMost: 1 },
        isTimeout: true,
        isUnsent,
      });
    case 'headers':
      return new AppError('api', `no answer from ${peer.name} within ${time}`, {
        hint: `Try again. ${formatTimeoutHint('HEADERS')}`,
        retry: {},
        isTimeout: true,
      });
    case 'body':
      return new AppError('api', `${peer.name} sent nothing for ${time}`, {
        hint: `Try again. ${formatTimeoutHint('IDLE')}`,
        retry: {},
        isTimeout: true,
      });
  }
}

function formatTimeoutHint(timer: string): string {
  return `GMN_${timer}_TIMEOUT sets how long gmn waits.`;
}

const CERTIFICATE = /^(?:CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_|INVALID_|HOSTNAME_|ERR_TLS_CERT_)/;

const CERTIFICATE_REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; is the clock right?',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain contains a self-signed certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is unknown',
  UNABLE_TO_GET_ISSUER_CERT: 'its issuer is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is unknown',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name',
};

/** `isUnsent` as for `timeoutError`: a route can be lost before a request is sent, and after. */
export function networkError(cause: unknown, phase: Phase, peer: Peer, isUnsent?: true): AppError {
  if (cause instanceof AppError) return cause;
  const code = findErrorCode(cause);
  const hint = peer.advice;
  const told = { cause, hint, isUnsent };
  if (CERTIFICATE.test(code)) {
    return new AppError('api', `certificate of ${peer.name} refused: ${CERTIFICATE_REASONS[code] ?? code}`, {
      ...told,
      hint:
        code === 'ERR_TLS_CERT_ALTNAME_INVALID'
          ? 'Check the host name in the URL, and that no proxy answers in its place.'
          : 'If you trust its issuer, put the CA certificate in a file and set NODE_EXTRA_CA_CERTS to its path.',
    });
  }
  if (phase !== 'body' && (code === 'EPROTO' || code.startsWith('ERR_SSL_'))) {
    return new AppError('api', `TLS handshake with ${peer.name} failed (${code})`, {
      ...told,
      hint: 'Check that the URL names a TLS server and its port; for a CA of your own set NODE_EXTRA_CA_CERTS.',
    });
  }
  if (code.startsWith('HPE_'))
    return new AppError('api', `${peer.name} does not speak HTTP (${code})`, { ...told, retry: { atMost: 1 } });
  switch (code) {
    case 'ENOTFOUND':
      return new AppError('api', `cannot resolve ${peer.hostname}`, { ...told, retry: { atMost: 1 } });
    case 'EAI_AGAIN':
      return new AppError('api', `cannot resolve ${peer.hostname} right now`, { ...told, retry: {} });
    case 'ECONNREFUSED':
      return new AppError('api', `connection to ${peer.name} refused`, { ...told, retry: {} });
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
      return new AppError('api', `no route to ${peer.name}`, { ...told, retry: {} });
    case 'ETIMEDOUT':
      return new AppError('api', `connection to ${peer.name} timed out`, { ...told, retry: { atMost: 1 } });
    default:
      return new AppError('api', formatClosed(phase, peer, code), { ...told, retry: {} });
  }
}

function formatClosed(phase: Phase, peer: Peer, code: string): string {
  const detail = code === '' || code === 'ECONNRESET' ? '' : ` (${code})`;
  return phase === 'body'
    ? `the answer was cut short: connection to ${peer.name} lost${detail}`
    : `connection to ${peer.name} closed before an answer came${detail}`;
}

function findErrorCode(error: unknown): string {
  if (error instanceof AggregateError) return findErrorCode(error.errors[0]);
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string' && !error.code.startsWith('UND_ERR_')) return error.code;
  return findErrorCode(error.cause);
}

export function formatBasicAuth(proxy: URL): string {
  const credentials = `${decodePercent(proxy.username)}:${decodePercent(proxy.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** Tolerant: a bare `%` in a password is common and means itself. */
function decodePercent(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));
}

/** An AppError `api` for a status by which a proxy refused to connect. Never shows its credentials. */
export function proxyError(proxy: URL, status: number): AppError {
  if (status === 407) {
    const isGiven = proxy.username !== '';
    const what = isGiven ? 'refused the user name or password it was given' : 'asks for a user name and password';
    return new AppError('api', `proxy ${proxy.host} ${what} (407)`, {
      hint: isGiven
        ? 'Check them in the proxy variable, HTTPS_PROXY or ALL_PROXY.'
        : 'Put them in the proxy variable: HTTPS_PROXY=http://user:password@host:port',
      status,
    });
  }
  return new AppError('api', `proxy ${proxy.host} refused the connection (${status})`, {
    hint: 'Ask who runs the proxy whether it lets this host through; NO_PROXY lists hosts to reach without it.',
    retry: status >= 500 ? {} : undefined,
  });
}

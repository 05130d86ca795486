import { AppError } from '../../core/error.ts';

/** What a proxy is told of the user it was given; the credentials of its URL. */
export function basicToken(proxy: URL): string {
  const credentials = `${unescaped(proxy.username)}:${unescaped(proxy.password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** A bare `%` in a password is common and means itself. */
function unescaped(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));
}

/** AppError `api` for the status with which a proxy did not do what it was asked. Never shows its credentials. */
export function proxyRefusal(proxy: URL, status: number): AppError {
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
    ...(status >= 500 ? { retry: {} } : {}),
  });
}

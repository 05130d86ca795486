import { AppError } from '../../../core/error.ts';
import { openRequests } from '../../wire/message.ts';
import type { SdkTransport } from '../sdk.ts';

/** Any that a server may use: what counts is the cause beside it, which no message of a server can hold. */
const BROKEN_OFF = -32000;

/**
 * Has a request fail as soon as the stream that should answer it has ended and cannot be resumed; the SDK by itself waits
 * for the timeout. `why` gives what is known of the end. To be called before the transport is started.
 */
export function failBrokenAnswers(transport: SdkTransport, why: () => string): void {
  const requests = openRequests();
  const send = transport.send.bind(transport);
  // The SDK keeps what was here, and calls it first.
  transport.onmessage = (message) => void requests.isExpected(message);
  transport.send = (message, options) => {
    if (!('method' in message && 'id' in message)) return send(message, options);
    const { id, method } = message;
    requests.sent(message);
    return send(message, {
      ...options,
      onRequestStreamEnd() {
        options?.onRequestStreamEnd?.();
        const cause = new AppError('mcp', [`its answer to ${method} broke off`, why()].filter(Boolean).join(': '));
        const answer = {
          jsonrpc: '2.0',
          id,
          error: { code: BROKEN_OFF, message: cause.message, data: { cause } },
        } as const;
        if (requests.isOpen(id)) transport.onmessage?.(answer);
      },
    });
  };
}

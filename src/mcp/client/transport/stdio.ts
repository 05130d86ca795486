import { resolve } from 'node:path';
import { tryParseJson } from '../../../core/json.ts';
import { formatSize } from '../../../core/text/format.ts';
import { type Program, type ProgramEnd, startProgram } from '../../../platform/process/child.ts';
import { programEnvironment } from '../../../platform/process/environment.ts';
import { splitLines, trimLine } from '../../wire/lines.ts';
import { isMessage, trackRequests } from '../../wire/message.ts';
import type { StdioDefinition } from '../definition.ts';
import { MAX_NOISE_LINES, MAX_SERVER_MESSAGE_BYTES, MAX_STRAY_MESSAGES, STRAY_REASON } from '../limits.ts';
import type { SdkTransport } from '../sdk.ts';
import type { OpenTransport } from '../types.ts';

export const openStdio: OpenTransport = async ({ definition, confine }, context) => {
  // Never happens, since `transports` is chosen by this kind; narrows the type.
  if (definition.kind !== 'stdio') throw new TypeError(definition.kind);
  const { command, args } = definition;
  const program = startProgram({
    command,
    args,
    cwd: resolve(context.cwd, definition.cwd ?? '.'),
    env: programEnvironment(context.env, definition.env),
    confine: await confine?.(),
    onExit: context.onExit,
  });
  const noise: string[] = [];
  let closeReason: string | undefined;
  const transport = createTransport(program, {
    onNoise(line) {
      // Many programs write their errors to stdout.
      noise.push(line.slice(0, 200));
      if (noise.length > 5) noise.shift();
    },
    onClose(why) {
      closeReason = why;
    },
  });
  return {
    transport,
    protocolVersion: 'legacy',
    closeReason: () => closeReason,
    async describeEnd() {
      const end = await Promise.race([program.ended, undefined]);
      const output = summarizeStderr([...program.errors().split('\n'), ...noise]);
      return [formatEnd(definition, end), output && `It said: ${output}`].filter((text) => text !== '').join('. ');
    },
    close: program.stop,
  };
};

interface OutputHandlers {
  onNoise(line: string): void;
  onClose(why: string): void;
}

/** https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
function createTransport(program: Program, { onNoise, onClose }: OutputHandlers): SdkTransport {
  const requests = trackRequests();
  let isClosed = false;
  const transport: SdkTransport = {
    async start() {
      const close = (): void => void transport.close();
      read().then(close, close);
    },
    send(message) {
      requests.noteSent(message);
      return program.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      transport.onclose?.();
    },
  };
  const read = async (): Promise<void> => {
    let noiseLines = 0;
    let strays = 0;
    for await (const line of splitLines(program.output, { maxBytes: MAX_SERVER_MESSAGE_BYTES, tooLong: 'stop' })) {
      if ('isTooLong' in line) return onClose(`it sent a line of more than ${formatSize(MAX_SERVER_MESSAGE_BYTES)}`);
      const text = trimLine(line.text);
      if (text === '') continue;
      const message = findMessage(text);
      if (message === undefined) {
        noiseLines += 1;
        onNoise(text);
      } else if (requests.noteResponse(message)) transport.onmessage?.(message);
      else strays += 1;
      if (noiseLines >= MAX_NOISE_LINES) return onClose(`${MAX_NOISE_LINES} lines of its output were not messages`);
      if (strays >= MAX_STRAY_MESSAGES) return onClose(STRAY_REASON);
      if (isClosed) return;
    }
    // Wait for the rest of stderr, which may explain the exit.
    await program.ended;
  };
  return transport;
}

function findMessage(text: string) {
  const value = tryParseJson(text);
  return isMessage(value) ? value : undefined;
}

function formatEnd({ command, cwd }: StdioDefinition, end: ProgramEnd | undefined): string {
  if (end === undefined) return '';
  // ENOENT is also reported for a missing working directory.
  if (end.failure === 'ENOENT')
    return cwd === undefined
      ? `There is no program ${command}`
      : `There is no program ${command}, or no directory ${cwd}`;
  if (end.failure === 'EACCES') return `The program ${command} may not be run`;
  if (end.failure !== undefined) return `Cannot start ${command}: ${end.failure}`;
  if (end.signal !== null) return `It was ended by ${end.signal}`;
  return end.exitCode === null ? 'It closed its output' : `It ended with exit code ${end.exitCode}`;
}

const EXCEPTION = /^(?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?: \S/;
const FIRST_LINES = 3;
const LAST_LINES = 5;

function summarizeStderr(written: readonly string[]): string {
  const lines = written.map((line) => line.trim()).filter((line) => line !== '');
  const exception = lines.find((line) => EXCEPTION.test(line));
  if (exception !== undefined) return exception;
  if (lines.length <= FIRST_LINES + LAST_LINES) return lines.join('\n');
  return [...lines.slice(0, FIRST_LINES), '…', ...lines.slice(-LAST_LINES)].join('\n');
}

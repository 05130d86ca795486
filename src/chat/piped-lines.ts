import { isBlockMark } from './line/block.ts';
import type { Entry, LineSource } from './line-source.ts';

const NEVER = (): void => {};

/**
 * The lines of a pipe or a file, each an entry; what stands between two lines of `"""` is one entry. Lines end with LF or
 * CRLF, the last one may do without; a byte order mark is dropped. `read` rejects if `bytes` does.
 */
export function pipedLines(bytes: AsyncIterable<Uint8Array>): LineSource {
  const entries = entriesOf(linesOf(bytes));
  return {
    isTerminal: false,
    async read() {
      const { value, done } = await entries.next();
      const entry: Entry = done ? { kind: 'end' } : { kind: 'text', text: value };
      return entry;
    },
    watch: () => NEVER,
    lend: (work) => work(),
    close() {
      // The source lets go of its descriptor when it is left; that it is waiting for more must not matter.
      entries.return().catch(NEVER);
    },
  };
}

async function* entriesOf(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let block: string[] | undefined;
  for await (const line of lines) {
    if (isBlockMark(line)) {
      if (block !== undefined) yield block.join('\n');
      block = block === undefined ? [] : undefined;
    } else if (block !== undefined) block.push(line);
    else yield line;
  }
  // The end of the pipe ends a block, too.
  if (block !== undefined) yield block.join('\n');
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  // It drops the mark by itself.
  const utf8 = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of bytes) {
    const [first = '', ...more] = utf8.decode(chunk, { stream: true }).split('\n');
    rest.push(first);
    for (const line of more) {
      yield withoutReturn(rest.join(''));
      rest = [line];
    }
  }
  const last = rest.join('') + utf8.decode();
  if (last !== '') yield withoutReturn(last);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

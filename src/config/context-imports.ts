import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { AppError } from '../core/error.ts';
import { decode } from '../core/text/decode.ts';
import { contains } from '../core/text/path.ts';
import { isSensitivePath, isStatePath } from '../core/text/secrets.ts';
import { trimTrailing } from '../core/text/trim.ts';
import { isDirectory, realPath } from '../platform/files/path.ts';
import { readBytes } from '../platform/files/read.ts';
import type { ContextPlace } from './context-place.ts';

const MAX_DEPTH = 5;
const MAX_FILE_BYTES = 1_000_000;
const MAX_TOTAL_LENGTH = 2_000_000;

/** Reads files of context with what they import. */
export interface ContextReader {
  /**
   * The text of a file, its `@imports` put in; undefined, and a notice, if it cannot be had. The user's own file may be a
   * link to wherever they keep it; what it imports may not.
   */
  read(place: Pick<ContextPlace, 'file' | 'root' | 'scope'>): Promise<string | undefined>;
  readonly notices: readonly string[];
}

interface Import {
  readonly file: string;
  /** Free of links, as are those of `chain`. */
  readonly root: string;
  /** The files that led here, this one last. */
  readonly chain: readonly string[];
}

/**
 * A reader that never leaves the root, but for the user's own file, follows links only inside it, opens no file that is likely to hold keys, and reads
 * regular text files only: 1 MB each, five imports deep, 2 million characters in all.
 */
export function contextReader(): ContextReader {
  const notices: string[] = [];
  let left = MAX_TOTAL_LENGTH;

  async function load(file: string, root: string | undefined): Promise<string | undefined> {
    const real = realPath(file);
    // Said once is enough.
    if (real === undefined || left < 0) return undefined;
    if (root !== undefined && !contains(root, real)) return refuse(file, `it leads out of ${root}`);
    if (isSecret(real, root)) return refuse(file, 'a file of that name may hold keys');
    try {
      const tooLarge = (): AppError => new AppError('usage', 'it is larger than 1 MB');
      const decoded = decode(await readBytes(real, { maxBytes: MAX_FILE_BYTES, tooLarge, links: 'never' }));
      if (!decoded.isText) return refuse(file, 'it is not text');
      left -= decoded.text.length;
      return left < 0 ? refuse(file, 'there is too much context already') : decoded.text;
    } catch (thrown) {
      return refuse(file, AppError.from(thrown).message);
    }
  }

  function refuse(file: string, why: string): undefined {
    notices.push(`${file} is not used: ${why}`);
  }

  async function expand(text: string, at: Import): Promise<string> {
    const pieces: string[] = [];
    let end = 0;
    for (const { index, path } of importsIn(text)) {
      const found = await imported(path, at);
      if (found === undefined) continue;
      pieces.push(text.slice(end, index), found);
      end = index + 1 + path.length;
    }
    return [...pieces, text.slice(end)].join('');
  }

  async function imported(path: string, { file, root, chain }: Import): Promise<string | undefined> {
    const target = isAbsolute(path) ? path : join(dirname(file), path);
    const real = realPath(target);
    // A word like any other that begins with @.
    if (real === undefined || isDirectory(real)) return undefined;
    if (chain.includes(real)) return `<!-- ${path} is above -->`;
    if (chain.length > MAX_DEPTH) return refuse(target, `imports go ${MAX_DEPTH} deep at most`);
    const text = await load(target, root);
    if (text === undefined) return undefined;
    const inner = await expand(text, { file: target, root, chain: [...chain, real] });
    return `<!-- ${path} -->\n${inner.trimEnd()}\n<!-- end of ${path} -->`;
  }

  return {
    notices,
    async read({ file, root, scope }) {
      const text = await load(file, scope === 'user' ? undefined : root);
      return text === undefined ? undefined : expand(text, { file, root, chain: [realPath(file) ?? file] });
    },
  };
}

/** The rule of the tools, but that instructions are often kept in `.gemini`, the user's own and the project's. */
function isSecret(real: string, root: string | undefined): boolean {
  const below = root === undefined ? basename(real) : relative(root, real).replace(/^\.gemini[\\/]/, '');
  return isStatePath(real) || isSensitivePath(below);
}

/** `@path` where a word begins, outside code; the mark that ends a sentence is not part of it. */
function importsIn(text: string): readonly { readonly index: number; readonly path: string }[] {
  const pattern = /```[\s\S]*?(?:```|$)|`[^`\n]*`|(?<!\S)@([./A-Za-z][^\s`]*)/g;
  return [...text.matchAll(pattern)].flatMap(({ index, 1: word }) => {
    const path = trimTrailing(word ?? '', `.,;:!?)]}'"`);
    return path === '' || path.includes('://') ? [] : [{ index, path }];
  });
}

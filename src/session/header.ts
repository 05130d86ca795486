import { basename } from 'node:path';
import { parseJson, stringOf } from '../core/json.ts';
import { parseHeader } from './parse.ts';
import { type Header, VERSION } from './record.ts';

const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-(\w[\w-]{0,63})\.jsonl$/;

/** The id in the name of a session's file; undefined if it is no such name. */
export function idIn(file: string): string | undefined {
  return NAME.exec(basename(file))?.[7];
}

/** A header, as far as it can be told. */
export interface FoundHeader extends Header {
  /** Whether it could not be read as it was written. */
  readonly isDamaged: boolean;
}

/**
 * The header of a session's file. The id is that of the file's name; if the first line is damaged, what can still be made out
 * in it and the name of the file tell the rest. Undefined if the file has no name of a session.
 */
export function headerOf(file: string, first: string): FoundHeader | undefined {
  const id = idIn(file);
  if (id === undefined) return undefined;
  const header = parseHeader(first);
  if (header !== undefined) return { ...header, id, isDamaged: header.id !== id };
  const cwd = salvaged(first, 'cwd') ?? '';
  const title = salvaged(first, 'title') ?? '';
  return { v: VERSION, id, at: timeIn(file), cwd, by: 'chat', gmn: '', title, isDamaged: true };
}

function salvaged(line: string, key: string): string | undefined {
  const [, value] = new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)*")`).exec(line) ?? [];
  return value === undefined ? undefined : stringOf(parseJson(value));
}

function timeIn(file: string): number {
  const time = Date.parse(basename(file).replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
  return Number.isNaN(time) ? 0 : time;
}

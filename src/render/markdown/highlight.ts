import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { paintDiff } from './diff-lines.ts';
import { decodeMarkdownEntities } from './inline.ts';
import { type Paint, plainPaint, type Theme } from './theme.ts';

export type Highlighter = (lines: readonly string[]) => readonly string[];

/** In characters, per call of a grammar. Some grammars take quadratic time: 2 KB of one letter cost up to 50 ms. */
const MAX_PORTION = 1000;
/** In characters: the lines of an open comment or string that are read again before the next portion. */
const MAX_CONTEXT = 1000;

export type OpenHighlighter = typeof createHighlighter;

export function createHighlighter(language: string, theme: Theme): Highlighter {
  const read = theme.isStyled ? codeReader(language) : undefined;
  if (read === undefined) return (lines) => lines;
  const paint: Highlighter = (lines) => {
    const runs = read(lines);
    return lines.map(
      (line, index) => runs[index]?.map(({ text, scopes }) => findPaint(scopes, theme)(text)).join('') ?? line,
    );
  };
  const isDiff = language === 'diff' || language === 'patch';
  return isDiff ? (lines) => paintDiff(lines, theme, (line) => paint([line])[0] ?? line) : paint;
}

export function codeReader(language: string) {
  if (!isKnownLanguage(language)) return undefined;
  // The lines since the last one that ended outside any comment, string or similar construct.
  let context: readonly string[] = [];
  return (lines: readonly string[]): readonly (readonly Run[] | undefined)[] =>
    splitPortions(lines).flatMap((portion) => {
      const source = [...context, ...portion];
      const code = portion.some((line) => line.length > MAX_PORTION) ? undefined : scopedLines(source, language);
      const read = portion.map((_, index) => code?.lines[context.length + index]);
      context = code?.isOpen ? shortenContext(source) : [];
      return read;
    });
}

export function splitPortions(lines: readonly string[]): readonly (readonly string[])[] {
  const found: string[][] = [];
  let room = 0;
  for (const line of lines) {
    const last = found.at(-1);
    room -= line.length + 1;
    if (last !== undefined && room >= 0) last.push(line);
    else {
      found.push([line]);
      room = MAX_PORTION - line.length - 1;
    }
  }
  return found;
}

/** The first line says what a construct is, so the middle of a long one is dropped. */
function shortenContext(lines: readonly string[]): readonly string[] {
  const [first = '', ...rest] = lines;
  let room = MAX_CONTEXT - first.length;
  const start = rest.findLastIndex((line) => {
    room -= line.length + 1;
    return room < 0;
  });
  return [first, ...rest.slice(start + 1)];
}

function findPaint(scopes: readonly string[], theme: Theme): Paint {
  for (const scope of scopes.toReversed()) {
    for (const name of scope.split(' ')) {
      const paint = theme.scopes.get(name.split('-')[0] ?? '');
      if (paint !== undefined) return paint;
    }
  }
  return plainPaint;
}

/** Code without a line break, and its scopes, such as `title function_`, outermost first. */
export interface Run {
  readonly text: string;
  readonly scopes: readonly string[];
}

const GRAMMARS = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, java, javascript, json, kotlin, php, python, ruby, rust },
  ...{ sql, swift, typescript, xml, yaml },
};

const registry = hljs.newInstance();

function isKnownLanguage(language: string): boolean {
  if (registry.listLanguages().length === 0) {
    for (const [name, grammar] of Object.entries(GRAMMARS)) registry.registerLanguage(name, grammar);
  }
  return registry.getLanguage(language) !== undefined;
}

/**
 * The code line by line, with its scopes. Undefined if there is no such grammar, or if it would change any character.
 */
function scopedLines(source: readonly string[], language: string) {
  if (!isKnownLanguage(language)) return undefined;
  const html = registry.highlight(`${source.join('\n')}\n`, { language, ignoreIllegals: true }).value;
  const lines: Run[][] = [];
  const open: string[] = [];
  let line: Run[] = [];
  let isOpen = false;
  for (const [token, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|\n|[^<\n]+/g)) {
    if (scope !== undefined) open.push(scope.replaceAll('hljs-', ''));
    else if (token === '</span>') open.pop();
    else if (token === '\n') {
      lines.push(line);
      line = [];
      isOpen = open.length > 0;
    } else line.push({ text: decodeMarkdownEntities(token.replaceAll('&#x27;', "'")), scopes: [...open] });
  }
  // Colour is optional, but the code must come out exactly as it went in.
  const isExact = lines.length === source.length && lines.every((runs, index) => joinRuns(runs) === source[index]);
  return isExact ? { lines, isOpen } : undefined;
}

function joinRuns(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}

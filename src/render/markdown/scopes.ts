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
import { decodeEntities } from './entities.ts';

/** A stretch of code without a line break, and what the grammar takes it for, as in `title function_`, outermost first. */
export interface Run {
  readonly text: string;
  readonly scopes: readonly string[];
}

export interface ScopedCode {
  readonly lines: readonly (readonly Run[])[];
  /** Whether the last line ended inside a construct that goes on. */
  readonly isOpen: boolean;
}

const GRAMMARS = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, java, javascript, json, kotlin, php, python, ruby, rust },
  ...{ sql, swift, typescript, xml, yaml },
};

const registry = hljs.newInstance();

/** Whether there is a grammar for a language of that name. */
export function isKnownLanguage(language: string): boolean {
  if (registry.listLanguages().length === 0) {
    for (const [name, grammar] of Object.entries(GRAMMARS)) registry.registerLanguage(name, grammar);
  }
  return registry.getLanguage(language) !== undefined;
}

/** The code line by line, with its scopes. Undefined if there is no such grammar, or it would not give back every character. */
export function scopedLines(source: readonly string[], language: string): ScopedCode | undefined {
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
    } else line.push({ text: decodeEntities(token.replaceAll('&#x27;', "'")), scopes: [...open] });
  }
  // Colour is a favour; the code itself must come out exactly as it went in.
  const isExact = lines.length === source.length && lines.every((runs, index) => textOf(runs) === source[index]);
  return isExact ? { lines, isOpen } : undefined;
}

function textOf(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join('');
}

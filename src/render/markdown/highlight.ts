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
import { type Paint, plain, type Theme } from './theme.ts';

/** Colours the lines of one fence, in the order they come. */
export type Highlighter = (lines: readonly string[]) => readonly string[];

const GRAMMARS = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, java, javascript, json, kotlin, php, python, ruby, rust },
  ...{ sql, swift, typescript, xml, yaml },
};

/** A construct that runs over more lines than this loses its colour in the middle, so that each line costs the same. */
const MAX_CONTEXT = 60;
const MAX_LINE_LENGTH = 2000;

const registry = hljs.newInstance();

/** A highlighter for one fence; for a language we do not know, one that gives every line back as it is. */
export function highlighterFor(language: string, theme: Theme): Highlighter {
  if (registry.listLanguages().length === 0) {
    for (const [name, grammar] of Object.entries(GRAMMARS)) registry.registerLanguage(name, grammar);
  }
  if (!theme.isStyled || registry.getLanguage(language) === undefined) return (lines) => lines;
  // The lines since the last one that ended outside of any comment, string or the like.
  let context: readonly string[] = [];
  return (lines) => {
    if (lines.some((line) => line.length > MAX_LINE_LENGTH)) {
      context = [];
      return lines;
    }
    const source = [...context, ...lines];
    const result = paintLines(source, language, theme);
    const shown = result.lines.slice(context.length);
    context = result.isOpen ? source.slice(-MAX_CONTEXT) : [];
    return shown;
  };
}

interface Painted {
  readonly lines: readonly string[];
  /** Whether the last line ended inside a construct that goes on. */
  readonly isOpen: boolean;
}

function paintLines(source: readonly string[], language: string, theme: Theme): Painted {
  const html = registry.highlight(`${source.join('\n')}\n`, { language, ignoreIllegals: true }).value;
  const lines: string[] = [];
  const written: string[] = [];
  const open: Paint[] = [];
  let line = '';
  let text = '';
  let isOpen = false;
  for (const [token, scope] of html.matchAll(/<span class="([^"]*)">|<\/span>|\n|[^<\n]+/g)) {
    if (scope !== undefined) open.push(paintOf(scope, theme) ?? open.at(-1) ?? plain);
    else if (token === '</span>') open.pop();
    else if (token === '\n') {
      lines.push(line);
      written.push(text);
      line = '';
      text = '';
      isOpen = open.length > 0;
    } else {
      const run = decodeEntities(token.replaceAll('&#x27;', "'"));
      line += (open.at(-1) ?? plain)(run);
      text += run;
    }
  }
  // Colour is a favour; the code itself must come out exactly as it went in.
  const isExact = written.length === source.length && written.every((shown, index) => shown === source[index]);
  return isExact ? { lines, isOpen } : { lines: source, isOpen: false };
}

function paintOf(scope: string, theme: Theme): Paint | undefined {
  for (const name of scope.split(' ')) {
    const paint = theme.scopes.get(name.replace(/^hljs-/, '').split('-')[0] ?? '');
    if (paint !== undefined) return paint;
  }
  return undefined;
}

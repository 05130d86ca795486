import type { Highlighter } from './highlight.ts';
import type { Theme } from './theme.ts';

/** Makes a highlighter for a language; knows them all, or none. */
export type OpenHighlighter = (language: string, theme: Theme) => Highlighter;

/** Loads highlight.js and its languages, once. */
export async function loadHighlighter(): Promise<OpenHighlighter> {
  return (await import('./highlight.ts')).highlighterFor;
}

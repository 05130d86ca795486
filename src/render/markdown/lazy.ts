import type { Highlighter } from './highlight.ts';
import type { Theme } from './theme.ts';

export type OpenHighlighter = (language: string, theme: Theme) => Highlighter;

export async function loadHighlighter(): Promise<OpenHighlighter> {
  return (await import('./highlight.ts')).createHighlighter;
}

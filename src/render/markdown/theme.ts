import { Chalk } from 'chalk';

export type Paint = (text: string) => string;

/** How each kind of text looks. With styling off, every paint returns its text unchanged. */
export interface Theme {
  readonly isStyled: boolean;
  readonly hasLinks: boolean;
  readonly heading: Paint;
  readonly strong: Paint;
  readonly emphasis: Paint;
  readonly strike: Paint;
  readonly code: Paint;
  readonly faint: Paint;
  readonly linkText: Paint;
  readonly removed: Paint;
  readonly added: Paint;
  readonly changed: Paint;
  /** By the first word of a highlighter's scope name. */
  readonly scopes: ReadonlyMap<string, Paint>;
}

/**
 * Uses the terminal's own palette, of which only red, green and magenta can be read on black and on white in most: cyan
 * and yellow are lost on white, blue on black.
 */
export function createTheme(isStyled: boolean, hasLinks: boolean): Theme {
  const chalk = new Chalk({ level: isStyled ? 1 : 0 });
  const scopes: readonly (readonly [string, Paint])[] = [
    ['comment', chalk.dim],
    ['quote', chalk.dim],
    ['keyword', chalk.magenta],
    ['selector', chalk.magenta],
    ['operator', chalk.magenta],
    ['built_in', chalk.magenta],
    ['type', chalk.magenta],
    ['title', chalk.bold],
    ['section', chalk.bold],
    ['name', chalk.bold],
    ['string', chalk.green],
    ['regexp', chalk.green],
    ['addition', chalk.green],
    ['deletion', chalk.red],
    ['attr', chalk.magenta],
    ['attribute', chalk.magenta],
    ['variable', chalk.magenta],
    ['meta', chalk.dim],
    ['doctag', chalk.bold],
    ['strong', chalk.bold],
    ['emphasis', chalk.italic],
  ];
  return {
    isStyled,
    hasLinks,
    heading: chalk.bold,
    strong: chalk.bold,
    emphasis: chalk.italic,
    strike: chalk.strikethrough,
    code: chalk.magenta,
    faint: chalk.dim,
    linkText: chalk.underline,
    removed: chalk.red,
    added: chalk.green,
    changed: chalk.inverse,
    scopes: new Map(scopes),
  };
}

export const plainPaint: Paint = (text) => text;

export function stripPaint(text: string): string {
  return text.replace(/\u001b\[[\d;]*m|\u001b\]8;;[^\u001b]*\u001b\\/g, '');
}

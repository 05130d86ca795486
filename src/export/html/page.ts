import type { SavedSession } from '../../core/session.ts';
import { sha256 } from '../../platform/runtime/native.ts';
import { listFacts, splitTurns } from '../transcript.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';
import { escapeAttribute, escapeHtml } from './text.ts';
import { turnHtml, turnLink } from './turn.ts';

/**
 * The page loads nothing, and its Content-Security-Policy allows only our own script and style; all text of the session
 * is escaped as well.
 */
export function* exportHtml(saved: SavedSession): Generator<string, void> {
  const title = saved.summary.title.trim() || 'Session';
  yield headHtml(title);
  yield `<body>\n<a class="skip" href="#conversation">Skip to the conversation</a>\n${factsHtml(saved, title)}`;
  yield SEARCH_FORM;
  if (saved.summary.turns > 1) {
    yield '<nav aria-label="Turns"><details open><summary>Turns</summary>\n<ol>\n';
    for (const turn of splitTurns(saved.records)) yield turnLink(turn);
    yield '</ol></details></nav>\n';
  }
  yield '<main id="conversation" tabindex="-1">\n';
  for (const turn of splitTurns(saved.records)) yield* turnHtml(turn);
  yield `</main>\n<footer>Exported by gmn. This page loads nothing from anywhere.</footer>\n<script>${SCRIPT}</script>\n</body>\n</html>\n`;
}

/** Hidden until the script shows it: search does not work without the script. */
const SEARCH_FORM = `<div class="finder" role="search" hidden>
<input type="search" id="find" placeholder="Search" aria-label="Search the conversation" autocomplete="off" spellcheck="false">
<output id="found" for="find"></output>
<button type="button" id="unfold" aria-pressed="false">Unfold all</button>
</div>
`;

function headHtml(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeAttribute(title)}</title>
<style>${STYLE}</style>
</head>
`;
}

function contentSecurityPolicy(): string {
  return [
    `default-src 'none'`,
    'img-src data:',
    `style-src ${cspHash(STYLE)}`,
    `script-src ${cspHash(SCRIPT)}`,
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ');
}

function cspHash(text: string): string {
  return `'sha256-${Buffer.from(sha256(text), 'hex').toString('base64')}'`;
}

function factsHtml(saved: SavedSession, title: string): string {
  const facts = listFacts(saved).map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>\n`);
  const notices = saved.notices.map((notice) => `<p class="notice">${escapeHtml(notice)}</p>\n`);
  const head = `<h1 dir="auto" lang="">${escapeHtml(title)}</h1>\n<dl class="facts">\n${facts.join('')}</dl>\n`;
  return `<header>\n${head}${notices.join('')}</header>\n`;
}

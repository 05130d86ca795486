/** The Content-Security-Policy has its hash, so it must not contain session data. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --panel: #f3f4f6; --ink: #1d2024; --faint: #5b6068; --line: #dfe1e5;
  --accent: #1a5fb4; --wash: #eaf1fb; --found: #ffe27a; --here: #ffb02e; --bad: #b3261e;
  --c: #646b75; --k: #8b2fb0; --t: #0b6e75; --f: #1a56b0; --s: #1f6f36; --d: #b3261e; --n: #8f4a00; --a: #7a4a12;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK JP", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #17191c; --panel: #212429; --ink: #e4e6e9; --faint: #a2a8b1; --line: #363a41;
    --accent: #8fbcff; --wash: #1d2a3d; --found: #6b5600; --here: #a36b00; --bad: #ff9a91;
    --c: #98a0ab; --k: #d9a0f5; --t: #7fd3d8; --f: #90bdff; --s: #8ed29c; --d: #ff9a91; --n: #f2b56b; --a: #e0c08a;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 0 1.25rem 4rem; max-width: 52rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.62 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
}
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 3; padding: .5rem 1rem; background: var(--paper); }
header { padding-top: 3rem; }
h1 { margin: 0 0 1rem; font-size: 1.75rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
.facts { display: flex; flex-wrap: wrap; gap: .15rem 1.75rem; margin: 0 0 1.25rem; color: var(--faint); font-size: .875rem; }
.facts dt { display: inline; margin-inline-end: .4em; }
.facts dd { display: inline; margin: 0; color: var(--ink); }
.notice { margin: .5rem 0; padding: .5rem .9rem; border-inline-start: 3px solid var(--bad); background: var(--panel); }
.finder {
  position: sticky; top: 0; z-index: 2; display: flex; gap: .75rem; align-items: center; margin: 0 -1.25rem; padding: .7rem 1.25rem;
  background: var(--paper); border-bottom: 1px solid var(--line);
}
.finder[hidden] { display: none; }
.finder input { flex: 1 1 10rem; min-width: 0; padding: .4rem .75rem; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; }
.finder output { flex: none; color: var(--faint); font-size: .875rem; font-variant-numeric: tabular-nums; }
button { padding: .4rem .75rem; font: inherit; font-size: .875rem; white-space: nowrap; color: var(--ink); background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; cursor: pointer; }
button:hover { border-color: var(--faint); }
nav { margin: 1rem 0; font-size: .9rem; }
nav ol { max-height: 40vh; margin: .5rem 0; padding-inline-start: 2.4rem; overflow: auto; }
nav a { display: block; overflow: hidden; padding: .1rem .4rem; color: inherit; text-decoration: none; text-overflow: ellipsis; white-space: nowrap; border-radius: .3rem; }
nav a:hover { background: var(--panel); }
nav li::marker { color: var(--faint); font-variant-numeric: tabular-nums; }
.turn { padding: 1.5rem 0 1rem; content-visibility: auto; contain-intrinsic-size: auto 40rem; }
.turn + .turn { border-top: 1px solid var(--line); }
h2 { display: flex; gap: .75rem; align-items: baseline; margin: 0 0 .75rem; font-size: .875rem; font-weight: 400; color: var(--faint); }
h2 a { font-weight: 600; text-decoration: none; }
h2 a::before { content: "#"; }
h3 { margin: 0 0 .35rem; font-size: .8rem; font-weight: 600; letter-spacing: .02em; color: var(--faint); }
.prompt { position: relative; margin-bottom: 1.5rem; padding: .8rem 1.1rem 1rem; background: var(--wash); border-radius: .75rem; }
.prompt h3 { color: var(--accent); }
.answer { position: relative; }
.said { margin: 0; font: inherit; white-space: pre-wrap; unicode-bidi: plaintext; }
.markdown { margin: .25rem 0 1rem; }
.markdown :is(p, li, h4, h5, h6, td, th) { unicode-bidi: plaintext; }
.tool + .markdown, .thought + .markdown { margin-top: 1.1rem; }
.prompt > :nth-last-child(2) figcaption, .prompt figure:last-child figcaption { margin-bottom: 0; }
.markdown > :first-child { margin-top: 0; }
.markdown > :last-child { margin-bottom: 0; }
.markdown p, .markdown ul, .markdown ol, .markdown blockquote, .markdown .code, .markdown .wide { margin: .8rem 0; }
.markdown ul, .markdown ol { padding-inline-start: 1.6rem; }
.markdown li { margin: .25rem 0; }
.markdown li > ul, .markdown li > ol { margin: .25rem 0; }
.markdown .task { list-style: none; margin-inline-start: -1.3rem; }
h4, h5, h6 { margin: 1.6rem 0 .5rem; line-height: 1.3; text-wrap: balance; }
h4 { font-size: 1.3rem; } h5 { font-size: 1.12rem; } h6 { font-size: 1rem; }
blockquote { padding-inline-start: 1rem; border-inline-start: 3px solid var(--line); color: var(--faint); }
hr { margin: 1.5rem 0; border: 0; border-top: 1px solid var(--line); }
.written { white-space: pre-wrap; }
.place { color: var(--faint); font-size: .875em; }
code, pre, .fields .said, .tool .said { font-family: var(--mono); font-size: .875rem; line-height: 1.5; }
:not(pre) > code { padding: .1em .35em; background: var(--panel); border-radius: .3rem; font-size: .875em; }
.prompt :not(pre) > code { background: var(--paper); }
pre > code { font: inherit; }
.code { position: relative; }
.code pre { margin: 0; padding: .85rem 1rem; overflow: auto; white-space: pre; overflow-wrap: normal; tab-size: 4; direction: ltr; text-align: left; background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; }
.language { display: block; margin-bottom: .2rem; font-size: .75rem; color: var(--faint); }
.copy { position: absolute; inset-block-start: .5rem; inset-inline-end: .5rem; padding: .1rem .55rem; font-size: .75rem; opacity: 0; transition: opacity .12s; }
.language ~ .copy { inset-block-start: -.1rem; }
.answer > .copy { inset-block-start: -.3rem; inset-inline-end: 0; }
.copy:focus-visible, .code:hover > .copy, .prompt:hover > .copy, .answer:hover > .copy { opacity: 1; }
@media (hover: none) { .copy { opacity: 1; } }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .94rem; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .8rem; text-align: start; vertical-align: top; border: 1px solid var(--line); }
th { background: var(--panel); }
.right { text-align: right; } .center { text-align: center; } .left { text-align: left; }
details > summary { cursor: pointer; }
.tool, .thought { margin: .6rem 0; border: 1px solid var(--line); border-radius: .6rem; font-size: .9rem; }
.tool > summary, .thought > summary { overflow: hidden; padding: .4rem .9rem; text-overflow: ellipsis; white-space: nowrap; border-radius: .6rem; }
.tool > summary:hover, .thought > summary:hover { background: var(--panel); }
.tool[open] > summary, .thought[open] > summary { border-bottom: 1px solid var(--line); border-radius: .6rem .6rem 0 0; }
.tool[open] > summary { white-space: normal; }
.tool > :not(summary), .thought > :not(summary) { margin-inline: .9rem; }
.thought > .markdown { margin-block: .6rem; color: var(--faint); }
.kind { margin-inline-end: .25rem; color: var(--faint); font-size: .8rem; }
.about { color: var(--faint); font-family: var(--mono); font-size: .8rem; }
.bad { color: var(--bad); }
summary .bad { font-size: .8rem; font-weight: 600; }
.part { margin: .8rem 0 .3rem; font-size: .8rem; font-weight: 600; color: var(--faint); }
.part.bad { color: var(--bad); }
.fields { display: grid; grid-template-columns: fit-content(12rem) minmax(0, 1fr); gap: .3rem 1rem; margin: .7rem 0; }
.fields dt { padding-top: .1rem; font-family: var(--mono); font-size: .8rem; color: var(--faint); }
.fields dd { margin: 0; min-width: 0; }
.tool .said { padding: .6rem .8rem; max-height: 32rem; overflow: auto; background: var(--panel); border-radius: .4rem; }
.tool .said, .tool .rest { margin-bottom: .6rem; }
.fields .said, .fields .rest { margin-bottom: 0; }
.rest > summary { padding: .3rem 0; font-size: .8rem; color: var(--accent); }
.note, .tokens, figcaption { margin: .5rem 0; font-size: .82rem; color: var(--faint); }
figure { margin: .8rem 0 0; }
figure img { display: block; max-width: 100%; max-height: 34rem; border: 1px solid var(--line); border-radius: .5rem; }
.unseen { padding: 0 .25em; font: .75em var(--mono); color: var(--bad); border: 1px solid currentColor; border-radius: .25em; unicode-bidi: isolate; }
footer { margin-top: 2rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .82rem; color: var(--faint); }
.c { color: var(--c); font-style: italic; } .k { color: var(--k); } .t { color: var(--t); } .f { color: var(--f); }
.s { color: var(--s); } .d { color: var(--d); } .n { color: var(--n); } .a { color: var(--a); }
::highlight(found) { background: var(--found); color: inherit; }
::highlight(here) { background: var(--here); color: inherit; }
@media (min-width: 76rem) {
  body:has(nav) { max-width: 74rem; display: grid; grid-template-columns: 17rem minmax(0, 1fr); column-gap: 3rem; }
  body:has(nav) > * { grid-column: 2; }
  body:has(nav) > nav { position: sticky; top: 0; grid-column: 1; grid-row: 1 / span 5; align-self: start; max-height: 100vh; margin: 0; padding: 3rem 0 2rem; overflow: auto; }
  nav ol { max-height: none; }
}
@media (max-width: 40rem) {
  header { padding-top: 1.5rem; }
  h1 { font-size: 1.4rem; }
  .fields { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
  .fields dd { margin-bottom: .5rem; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media print {
  :root { --paper: #fff; --panel: #f5f5f5; --wash: #f2f5fa; --ink: #000; --faint: #444; --line: #ccc; --accent: #123f7a; color-scheme: light; }
  body, body:has(nav) { display: block; max-width: none; padding: 0; font-size: 10.5pt; }
  .finder, nav, .copy, .skip { display: none !important; }
  header { padding-top: 0; }
  .turn { content-visibility: visible; }
  .code pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .tool .said { max-height: none; }
  .tool:not([open]), .thought:not([open]), h2, h3, h4, h5, h6, tr, figure { break-inside: avoid; }
  h2, h3, h4, h5, h6 { break-after: avoid; }
}
`;

import type { TurnRecord } from '../../src/core/history.ts';
import type { SavedSession } from '../../src/core/session.ts';
import { answer, call, followUp, PNG, prompt, reply, sessionOf } from './samples.ts';

/** Changes the title if it ever runs. */
const MARK = 'document.title="RAN"';

/** Strings that have made other programs' pages run, load or hide something. */
export const HOSTILE: readonly string[] = [
  `<script>${MARK}</script>`,
  `</script><script>${MARK}</script>`,
  `</style><script>${MARK}</script>`,
  `</title><script>${MARK}</script>`,
  `</pre></code></details><script>${MARK}</script>`,
  `<!--><script>${MARK}</script>-->`,
  `<![CDATA[<script>${MARK}</script>]]>`,
  `]]><script>${MARK}</script>`,
  `<scr\0ipt>${MARK}</script>`,
  `<img src=x onerror='${MARK}'>`,
  `"><img src=x onerror='${MARK}'>`,
  `' onmouseover='${MARK}' autofocus onfocus='${MARK}`,
  `" autofocus tabindex=0 onfocus="${MARK}`,
  `\` onload=\`${MARK}`,
  `<svg onload='${MARK}'><script>${MARK}</script></svg>`,
  `<math><mi xlink:href="javascript:${MARK}">x</mi></math>`,
  `<iframe srcdoc="<script>parent.${MARK}</script>"></iframe>`,
  `<object data="javascript:${MARK}"></object><embed src="javascript:${MARK}">`,
  `<form action="javascript:${MARK}"><button autofocus>x</button></form>`,
  `<base href="https://evil.example/"><link rel=stylesheet href=//evil.example/a.css>`,
  `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
  `<style>*{background:url(https://evil.example/leak)}</style>`,
  `<div style="position:fixed;inset:0;background:url(//evil.example)">`,
  `<details open ontoggle='${MARK}'><summary>x</summary></details>`,
  `<video autoplay><source onerror='${MARK}'></video>`,
  `<a href="javascript:${MARK}">x</a>`,
  `[click](javascript:${MARK.replaceAll('"', "'")})`,
  `[click](JaVaScRiPt:alert(1))`,
  `[click](&#106;avascript:alert(1))`,
  `[click](java\nscript:alert(1))`,
  `[click](\u0001javascript:alert(1))`,
  `[click](vbscript:x)`,
  `[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
  `[click](file:///etc/passwd)`,
  `[click](https://evil.example/"onmouseover="${MARK}")`,
  `[https://bank.example](https://evil.example/)`,
  `<javascript:alert(1)>`,
  `![x](https://evil.example/pixel.png)`,
  `![x](javascript:alert(1) "onerror=${MARK}")`,
  `![x](data:image/svg+xml,<svg/onload=${MARK}>)`,
  `[ref]: javascript:alert(1) "t"\n\n[ref]`,
  '```html"><script>document.title="RAN"</script>\ncode\n```',
  '```js\n</code></pre><script>document.title="RAN"</script>\n```',
  '````"onmouseover="x\n```\n````',
  `\${${MARK}} {{${MARK}}} <%= ${MARK} %> \`\${${MARK}}\``,
  `| a | b |\n|---|---|\n| <script>${MARK}</script> | x |`,
  `- <script>${MARK}</script>\n  - [x](javascript:alert(1))`,
  `&lt;script&gt;${MARK}&lt;/script&gt;`,
  `&#60;script&#62;${MARK}&#60;/script&#62;`,
  `\\<script>${MARK}</script>`,
  `+ADw-script+AD4-${MARK}+ADw-/script+AD4-`,
  '\u202e\u2066evil\u2069\u202c \u200f\u061c',
  'nul \0 escape \u001b[2J\u001b]0;x\u0007 delete \u007f csi \u009b31m',
  'halves \ud800 and \udc00',
  'hidden \u{e0061}\u{e0062} flag \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  'lines \u2028 and \u2029 and \r and \r\n end',
  '__proto__',
  'constructor',
  `${'> '.repeat(3000)}deep`,
  `${'['.repeat(3000)}x`,
];

/** The string is in every field of a session that can hold one. */
export function everywhere(text: string): SavedSession {
  const records: readonly TurnRecord[] = [
    prompt(text, { inlineData: { mimeType: text, data: text } }, { inlineData: { mimeType: 'image/png', data: text } }),
    call(
      { text, thought: true },
      text,
      { functionCall: { id: text, name: text, args: { [text]: text, list: [text, { [text]: text }] } } },
      { functionCall: { name: 'read_file', args: { file_path: text } } },
      JSON.parse(JSON.stringify({ executableCode: { language: text, code: text } })),
    ),
    answer(text, { output: text }),
    answer('read_file', { error: text, [text]: text }, { inlineData: { mimeType: 'image/svg+xml', data: PNG } }),
    answer('nobody', { output: text }),
    { ...reply(`${text}\n\nand ${text}`), model: text, finishReason: text },
    followUp(text),
    prompt(`first\n${text}`),
    reply(`\`\`\`${text}\n${text}\n\`\`\`\n\n\`${text}\` **${text}** [${text}](${text}) ![${text}](${text} "${text}")`),
  ];
  return sessionOf(records, { title: text, name: text, cwd: text, model: text, id: text, notices: [text] });
}

export function hostileSession(): SavedSession {
  const sessions = HOSTILE.map(everywhere);
  const records = sessions.flatMap((session) => session.records);
  const notices = sessions.flatMap((session) => session.notices);
  return { ...sessionOf(records, { title: HOSTILE.slice(0, 12).join(' ') }), notices };
}

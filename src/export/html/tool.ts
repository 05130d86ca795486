import type { JsonObject, JsonValue } from '../../core/json.ts';
import { plainResult } from '../result.ts';
import type { Answer } from '../transcript.ts';
import { coloured } from './code.ts';
import { foldedText } from './folded.ts';
import { mediaHtml } from './media.ts';
import { escaped } from './text.ts';

export interface ToolUse {
  readonly name: string;
  /** Absent: only the answer is there. */
  readonly args?: JsonObject;
  readonly answer: Answer | undefined;
}

const MAX_HINT = 90;

/** A call of a tool, folded to one line: its name, what it was about, and whether it failed. */
export function toolHtml({ name, args, answer }: ToolUse): string {
  const hint = args === undefined ? '' : hintOf(args);
  const about = hint === '' ? '' : ` <span class="about">${escaped(hint)}</span>`;
  const summary = `<summary><span class="kind">Tool</span> <code>${escaped(name)}</code>${about}${stateHtml(answer)}</summary>\n`;
  const given = args === undefined ? '' : fieldsHtml(args);
  return `<details class="tool">${summary}${given}${answerHtml(answer)}</details>\n`;
}

function stateHtml(answer: Answer | undefined): string {
  if (answer === undefined) return ' <span class="bad">no answer</span>';
  return typeof answer.response.error === 'string' ? ' <span class="bad">failed</span>' : '';
}

/** The first words among the arguments: most often the path, the pattern or the command. */
function hintOf(args: JsonObject): string {
  const words = Object.values(args).find((value) => typeof value === 'string' && value.trim() !== '');
  const [line = ''] = typeof words === 'string' ? words.trim().split('\n', 1) : [];
  const short = Array.from(line.slice(0, 2 * MAX_HINT))
    .slice(0, MAX_HINT)
    .join('');
  return short.length < line.length ? `${short}…` : short;
}

function answerHtml(answer: Answer | undefined): string {
  if (answer === undefined) return '<p class="note">No answer was recorded.</p>\n';
  const { response, media } = answer;
  const plain = plainResult(response);
  const title = `<p class="part${plain?.isError ? ' bad' : ''}">${plain?.isError ? 'Error' : 'Result'}</p>\n`;
  const body = plain === undefined ? fieldsHtml(response) : foldedText(plain.text, 'pre');
  return title + body + media.map(mediaHtml).join('');
}

/** Each value in the form it is read best in: words as they are, everything else as JSON. */
function fieldsHtml(fields: JsonObject): string {
  const rows = Object.entries(fields).map(([name, value]) => {
    return value === undefined ? '' : `<dt>${escaped(name)}</dt><dd>${valueHtml(value)}</dd>\n`;
  });
  return rows.length === 0 ? '<p class="note">None.</p>\n' : `<dl class="fields">\n${rows.join('')}</dl>\n`;
}

function valueHtml(value: JsonValue): string {
  if (typeof value === 'string') {
    const isShort = value.length <= 200 && !/[\r\n]/.test(value);
    return isShort ? `<code dir="auto" lang="">${escaped(value)}</code>` : foldedText(value, 'pre');
  }
  const json = JSON.stringify(value, undefined, 2);
  if (!json.includes('\n')) return `<code>${escaped(json)}</code>`;
  return json.length > 4000
    ? foldedText(json, 'pre')
    : `<pre class="said"><code>${coloured(json, 'json')}</code></pre>`;
}

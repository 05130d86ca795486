import type { SavedFile, ServiceStep } from '../core/event.ts';
import { formatSize, plural } from '../core/text/format.ts';
import { describeMedia } from '../core/text/picture.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { ToolLine } from './tool-line.ts';

const MAX_ROWS = 40;

/** `ran Python` with the code below it, `output`, `read https://example.com/`. Sanitized for the terminal. */
export function formatServiceStep(step: ServiceStep): ToolLine {
  switch (step.kind) {
    case 'code':
      return {
        isGood: true,
        text: `the service runs ${step.language === 'PYTHON' ? 'Python' : formatWords(step.language)}`,
        rows: formatRows(step.code),
      };
    case 'result': {
      const { ok, outcome, output } = step;
      return { isGood: ok, text: ok ? 'its output' : `it failed: ${formatWords(outcome)}`, rows: formatRows(output) };
    }
    case 'page': {
      const why = step.ok ? '' : `: ${formatWords(step.status)}`;
      return { isGood: step.ok, text: `the service read ${sanitize(step.url)}${why}` };
    }
  }
}

/** `saved fox.png (PNG, 640x480, 12.0 kB)`. Sanitized for the terminal. */
export function formatSavedFile({ name, mimeType, bytes }: SavedFile, data: string): ToolLine {
  // The size of a picture is near its beginning.
  const start = Buffer.from(data.slice(0, 262_144), 'base64');
  return {
    isGood: true,
    text: `saved ${sanitize(name)} (${sanitize(describeMedia(mimeType, start))}, ${formatSize(bytes)})`,
  };
}

/** `OUTCOME_DEADLINE_EXCEEDED` as words. */
function formatWords(constant: string): string {
  const words = sanitize(constant.replace(/^OUTCOME_/, ''))
    .replaceAll('_', ' ')
    .toLowerCase();
  return words === '' ? 'no reason given' : words;
}

function formatRows(text: string): readonly string[] {
  const lines = text.trimEnd().split('\n');
  if (lines.length === 1 && lines[0] === '') return [];
  const shown = lines.slice(0, MAX_ROWS).map((line) => `  ${sanitize(line)}`);
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `  … ${plural(left, 'more line')}; -o json has all`];
}

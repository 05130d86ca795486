import { expect, test } from 'vitest';
import type { Part } from '../../src/core/content.ts';
import { deriveTitle } from '../../src/session/record.ts';

const IMAGE: Part = { inlineData: { mimeType: 'image/png', data: '' } };

test.each<readonly [title: string, parts: readonly Part[]]>([
  ['two lines', [{ text: ' two\nlines\n' }]],
  ['first and second', [{ text: 'first\n\nand\n\nsecond' }]],
  ['what is it?', [{ text: '=== a.ts ===\nlet a;\n\nlet b;\n\n\nwhat is it?\n' }]],
  ['review', [{ text: `${'diff\n\n'.repeat(300)}review` }]],
  ['why?', [{ text: '$ ls\na\nb' }, { text: 'why?' }]],
  ['compare', [{ text: '=== a.png ===' }, IMAGE, { text: '=== b.png ===' }, IMAGE, { text: 'compare' }]],
  ['=== a.png === === b.png ===', [{ text: '=== a.png ===' }, IMAGE, { text: '=== b.png ===' }, IMAGE]],
  ['', [IMAGE]],
  [`${'x'.repeat(99)}…`, [{ text: 'x'.repeat(101) }]],
])('a session is called %j after what the person said', (title, parts) => {
  expect(deriveTitle({ role: 'user', parts })).toBe(title);
});

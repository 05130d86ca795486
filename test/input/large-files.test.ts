import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAttachments, INLINE_LIMIT } from '../../src/input/attachment.ts';

const SUPPORT = { hasUploads: true, hasBuckets: false, hint: '' };

test('the largest are uploaded, in place, until the rest fits', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9_000_000 }), { maxLength: 8 });
  const check = fc.property(sizes, fc.integer({ min: 0, max: 9_000_000 }), (all, words) => {
    const attachments = createAttachments(SUPPORT);
    for (const [index, size] of all.entries()) {
      const upload = { path: `/${index}`, mimeType: 'text/plain', links: 'follow' } as const;
      attachments.add({ name: String(index), bytes: size, text: 'x'.repeat(size), upload });
    }
    attachments.makeRoomFor('x'.repeat(words));
    const { items } = attachments;
    const inline = items.filter((item) => 'text' in item);
    const uploaded = items.filter((item) => 'isUploaded' in item);
    expect(items.map(({ name }) => Number(name))).toEqual(all.map((_, index) => index));
    expect(inline.reduce((sum, { bytes }) => sum + bytes, words)).toBeLessThanOrEqual(INLINE_LIMIT);
    // No file is uploaded without need.
    const least = Math.min(...uploaded.map(({ bytes }) => bytes));
    const isNeeded = inline.reduce((sum, { bytes }) => sum + bytes, words) + least > INLINE_LIMIT;
    expect(uploaded.length === 0 || isNeeded || uploaded.length > 1).toBe(true);
  });
  fc.assert(check, { numRuns: 15 });
});

test('what is not on disk cannot be uploaded', () => {
  const attachments = createAttachments(SUPPORT);
  expect(() => attachments.add({ name: 'clipboard', bytes: 1, text: 'x'.repeat(INLINE_LIMIT + 1) })).toThrow(
    'the input is larger than 20 MB, the most that can be sent; the largest is clipboard (1 B)',
  );
});

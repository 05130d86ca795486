import { expect, test } from 'vitest';
import { formatUploadProgress } from '../../../src/engine/model/uploads.ts';

test.for([
  [0, 1_000_000_000, undefined, '░░░░░░░░░░░░░░░░░░░░ 0 % of 1.0 GB'],
  [425_000_000, 1_000_000_000, 12_300_000, '████████░░░░░░░░░░░░ 42 % of 1.0 GB · 12.3 MB/s · 47 s left'],
  [999_999_999, 1_000_000_000, 1, '███████████████████░ 99 % of 1.0 GB · 1 B/s · 1 s left'],
  [5, 1000, 0, '░░░░░░░░░░░░░░░░░░░░ 0 % of 1.0 kB · 0 B/s'],
  [0, 0, undefined, '████████████████████ 100 % of 0 B'],
] as const)('%d of %d bytes', ([bytes, total, rate, text]) => {
  expect(formatUploadProgress(bytes, total, rate)).toBe(text);
});

import { expect, test } from 'vitest';
import { findNearMiss } from '../../src/input/files.ts';

test('a near miss is close, and the closest', () => {
  expect(findNearMiss('mian.ts', ['main.ts', 'main.tsx', 'maine.ts'])).toBe('main.ts');
  expect(findNearMiss('MAIN.TS', ['main.js', 'main.ts'])).toBe('main.ts');
  expect(findNearMiss('main.ts', ['package.json', 'x'])).toBeUndefined();
  expect(findNearMiss('a', ['bc'])).toBeUndefined();
});

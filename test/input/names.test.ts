import { expect, test } from 'vitest';
import { nearMiss } from '../../src/input/files.ts';

test('a near miss is close, and the closest', () => {
  expect(nearMiss('mian.ts', ['main.ts', 'main.tsx', 'maine.ts'])).toBe('main.ts');
  expect(nearMiss('MAIN.TS', ['main.js', 'main.ts'])).toBe('main.ts');
  expect(nearMiss('main.ts', ['package.json', 'x'])).toBeUndefined();
  expect(nearMiss('a', ['bc'])).toBeUndefined();
});

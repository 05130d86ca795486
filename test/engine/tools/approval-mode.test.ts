import { expect, test } from 'vitest';
import { AppError } from '../../../src/core/error.ts';
import { chooseMode, type ModeOptions } from '../../../src/engine/tools/toolbox.ts';

test.each([
  [{}, 'default'],
  [{ yolo: true }, 'yolo'],
  [{ approvalMode: 'plan' }, 'plan'],
  [{ approvalMode: 'yolo', yolo: true }, 'yolo'],
] as const)('the flags %j mean the mode %s', (options, mode) => {
  expect(chooseMode(options, {}).mode).toBe(mode);
});

test('two flags that say different things are a mistake', () => {
  expect(() => chooseMode({ approvalMode: 'auto_edit', yolo: true }, {})).toThrow(
    new AppError('usage', '--yolo cannot be combined with --approval-mode auto_edit', { hint: 'Use one of them.' }),
  );
});

/** The outcome where the user's settings say so. */
function withSetting(said: string | boolean, options: ModeOptions = {}) {
  return chooseMode(options, { document: { general: { defaultApprovalMode: said } } });
}

test.each(['default', 'auto_edit', 'plan'])('a file may choose the mode %s', (mode) => {
  expect(withSetting(mode)).toEqual({ mode, notices: [] });
});

test('a flag outweighs the file, and is all there is without one', () => {
  expect(withSetting('auto_edit', { approvalMode: 'plan' })).toEqual({ mode: 'plan', notices: [] });
  expect(withSetting('plan', { yolo: true })).toEqual({ mode: 'yolo', notices: [] });
  expect(chooseMode({ approvalMode: 'plan' }, {})).toEqual({ mode: 'plan', notices: [] });
  expect(chooseMode({}, {})).toEqual({ mode: 'default', notices: [] });
});

test.each([
  ['yolo', 'is not taken from a file'],
  ['always', 'cannot be "always"'],
  [true, 'cannot be "true"'],
])('a file with %j changes nothing, and a notice says so', (said, why) => {
  const notice = `general.defaultApprovalMode ${why}: gmn asks before every change`;
  expect(withSetting(said)).toEqual({ mode: 'default', notices: [notice] });
});

test('settings may turn yolo off, and nothing else', () => {
  const settings = { document: { security: { disableYoloMode: true } } };
  expect(() => chooseMode({ yolo: true }, settings)).toThrow('yolo is turned off');
  expect(chooseMode({ approvalMode: 'auto_edit' }, settings).mode).toBe('auto_edit');
  expect(chooseMode({ yolo: true }, { document: { security: { disableYoloMode: false } } }).mode).toBe('yolo');
});

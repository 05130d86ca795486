import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError, FAULTS, type Fault, findStatus } from '../../src/core/error.ts';

const text = fc.string();
const common = fc.record(
  {
    cause: fc.anything(),
    hint: text,
    shortMessage: text,
    retry: fc.record({ afterMs: fc.nat(), atMost: fc.nat() }, { requiredKeys: [] }),
    answer: text,
  },
  { requiredKeys: [] },
);
const details = fc.record({ status: fc.nat(599), isTimeout: fc.boolean(), guide: text }, { requiredKeys: [] });
const fault = fc.constantFrom(...(Object.keys(FAULTS) as Fault[]));
const anyError = fc
  .tuple(fault, text, common, details, fc.boolean())
  .map(([code, message, shared, own, isTold]) =>
    Object.assign(new AppError(code, message, { ...shared, ...own }), { isTold }),
  );

/** Every own field, those of `Error` that are not enumerable too. */
function fields(error: AppError): ReadonlyMap<PropertyKey, unknown> {
  return new Map(Reflect.ownKeys(error).map((key) => [key, Reflect.get(error, key)]));
}

test('a copy differs in the given fields only, and leaves the original alone', () => {
  fc.assert(
    fc.property(anyError, fc.option(text, { nil: undefined }), fc.anything(), (error, hint, cause) => {
      const before = fields(error);
      const copy = error.with({ hint, cause });
      expect(copy).not.toBe(error);
      expect(copy).toBeInstanceOf(AppError);
      expect(fields(error.with({}))).toEqual(before);
      expect(fields(copy)).toEqual(new Map([...before, ['hint', hint], ['cause', cause]]));
      expect(fields(error)).toEqual(before);
    }),
  );
});

test('what all errors share is beside the fault, and what is of the fault is in its details', () => {
  fc.assert(
    fc.property(fault, common, details, (code, shared, own) => {
      const error = new AppError(code, 'words', { ...shared, ...own });
      expect(error).toMatchObject({ shortMessage: 'words', ...shared, ...FAULTS[code] });
      expect(error.details).toEqual(own);
    }),
  );
});

test('the fault tells which details there are', () => {
  const error: AppError = new AppError('api', 'no', { status: 404, objection: 'model' });
  expect(error.fault === 'api' && error.details.objection).toBe('model');
  // @ts-expect-error: a wrong flag has no HTTP status.
  expect(new AppError('usage', 'no', { status: 404 }).fault).toBe('usage');
});

test('a status is found in what was thrown, whichever fault it became', () => {
  expect([
    findStatus(new AppError('api', 'no', { status: 404 })),
    findStatus(new AppError('mcp', 'no', { status: 401 })),
    findStatus(new AppError('auth', 'no')),
    findStatus(new AppError('usage', 'no')),
    findStatus(Object.assign(new Error('no'), { status: 404 })),
  ]).toEqual([404, 401, undefined, undefined, undefined]);
});

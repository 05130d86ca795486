import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError, EXIT_CODES, type Fault } from '../../src/core/error.ts';
import { CodedError } from '../../src/mcp/server/errors.ts';

const text = fc.string();
const options = fc.record(
  {
    cause: fc.anything(),
    hint: text,
    guide: text,
    detail: text,
    retry: fc.record({ afterMs: fc.nat(), atMost: fc.nat() }, { requiredKeys: [] }),
    status: fc.nat(599),
    isTimeout: fc.boolean(),
    objection: fc.constantFrom('signature' as const, 'model' as const, 'length' as const, 'tools' as const),
    answer: text,
  },
  { requiredKeys: [] },
);
const fault = fc.constantFrom(...(Object.keys(EXIT_CODES) as Fault[]));
const anyError = fc
  .tuple(fc.constantFrom('app', 'coded'), fault, text, options, fc.boolean())
  .map(([kind, code, message, given, isTold]) => {
    const error = kind === 'app' ? new AppError(code, message, given) : new CodedError('TIMEOUT', message, given);
    return Object.assign(error, { isTold });
  });

/** Every own field, those of `Error` that are not enumerable too. */
function fields(error: AppError): ReadonlyMap<PropertyKey, unknown> {
  return new Map(Reflect.ownKeys(error).map((key) => [key, Reflect.get(error, key)]));
}

test('a copy keeps the class and every field', () => {
  fc.assert(
    fc.property(anyError, (error) => {
      const copy = error.with({});
      expect(copy).not.toBe(error);
      expect(Object.getPrototypeOf(copy)).toBe(Object.getPrototypeOf(error));
      expect(fields(copy)).toEqual(fields(error));
    }),
  );
});

test('a copy differs in the given fields only, and leaves the original alone', () => {
  fc.assert(
    fc.property(anyError, fc.option(text, { nil: undefined }), fc.anything(), (error, hint, cause) => {
      const before = fields(error);
      const copy = error.with({ hint, cause });
      expect(fields(copy)).toEqual(new Map([...before, ['hint', hint], ['cause', cause]]));
      expect(fields(error)).toEqual(before);
    }),
  );
});

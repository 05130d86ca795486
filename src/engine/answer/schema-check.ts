import { format as FORMATS } from '@cfworker/json-schema';
import { canonicalJson, isList, isObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { compilePattern, type Pattern, type StepLimit, takeSteps } from '../../core/text/pattern.ts';
import { createReferences, type References } from './schema-references.ts';

/** What is wrong with a value, and where: a JSON pointer. */
export interface Mismatch {
  readonly at: string;
  readonly error: string;
}

/**
 * Compiles a check for JSON Schema, draft 4 to 2020-12. Every schema that is applied to a value, every item that is
 * compared and every step of a pattern counts, so that no schema and no value takes long. Throws SyntaxError for an
 * invalid pattern. The check throws StepLimitError, and Error for a reference that leads nowhere.
 */
export function compileSchemaCheck(document: JsonObject): (value: JsonValue, limit: StepLimit) => Mismatch | undefined {
  const references = createReferences(document);
  const patterns = new Map(references.listPatterns().map((source) => [source, compilePattern(source)]));
  const check: Check = {
    // Before 2019-09, what stands beside a reference does not count.
    isReferenceAlone: /draft-0[467]/.test(String(document.$schema ?? '')),
    references,
    patterns,
    choices: new Map(),
  };
  return (value, limit) => applySchema(document, value, { check, limit, at: '', seen: new Set() });
}

interface Check {
  readonly isReferenceAlone: boolean;
  readonly references: References;
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly choices: Map<object, ReadonlySet<string>>;
}

interface Position {
  readonly check: Check;
  readonly limit: StepLimit;
  readonly at: string;
  readonly seen: Seen;
}

/** The properties and items of a value that some schema has been applied to, for `unevaluatedProperties` and the like. */
type Seen = Set<string | number>;

type Schema = JsonValue | undefined;

const MANY = Number.POSITIVE_INFINITY;

function applySchema(schema: Schema, value: JsonValue, here: Position): Mismatch | undefined {
  takeSteps(here.limit, 1);
  if (schema === false) return { at: here.at, error: 'Nothing is allowed here.' };
  if (!isObject(schema)) return undefined;
  const own = schema as JsonObject;
  const target = here.check.references.find(own);
  const referred = target === undefined ? undefined : applySchema(target, value, here);
  if (referred !== undefined || (target !== undefined && here.check.isReferenceAlone)) return referred;
  return (
    checkType(own, value, here) ??
    checkScalar(own, value, here) ??
    checkBranches(own, value, here) ??
    checkParts(own, value, here)
  );
}

function checkType(schema: JsonObject, value: JsonValue, here: Position): Mismatch | undefined {
  const { type } = schema;
  if (type !== undefined) {
    const actual = nameType(value);
    const isInteger = typeof value === 'number' && Number.isInteger(value);
    const types = [type].flat();
    if (!types.includes(actual) && !(isInteger && types.includes('integer')))
      return { at: here.at, error: `Instance type "${actual}" is invalid. Expected "${types.join('", "')}".` };
  }
  const choices = 'const' in schema ? [schema.const ?? null] : undefined;
  return checkChoice(choices, schema, value, here) ?? checkChoice(schema.enum, schema.enum, value, here);
}

function nameType(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function checkChoice(choices: Schema, key: unknown, value: JsonValue, here: Position): Mismatch | undefined {
  if (!isList(choices) || typeof key !== 'object' || key === null) return undefined;
  const { choices: known } = here.check;
  const texts = known.get(key) ?? new Set(choices.map(canonicalJson));
  known.set(key, texts);
  if (texts.has(toComparable(value, here))) return undefined;
  return {
    at: here.at,
    error: `It is not ${choices.length === 1 ? '' : 'one of '}${JSON.stringify(choices).slice(1, -1)}.`,
  };
}

function toComparable(value: JsonValue, { limit }: Position): string {
  const text = canonicalJson(value);
  takeSteps(limit, text.length / 16);
  return text;
}

function checkScalar(schema: JsonObject, value: JsonValue, here: Position): Mismatch | undefined {
  if (typeof value === 'number') return checkNumber(schema, value, here);
  return typeof value === 'string' ? checkString(schema, value, here) : undefined;
}

function checkNumber(schema: JsonObject, value: number, here: Position): Mismatch | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const wrong = (is: string, than: JsonValue | undefined): Mismatch => ({
    at: here.at,
    error: `${value} ${is} ${than}.`,
  });
  if (typeof minimum === 'number' && (value < minimum || (exclusiveMinimum === true && value === minimum)))
    return wrong('is too small for a minimum of', minimum);
  if (typeof maximum === 'number' && (value > maximum || (exclusiveMaximum === true && value === maximum)))
    return wrong('is too large for a maximum of', maximum);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return wrong('is not more than', exclusiveMinimum);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return wrong('is not less than', exclusiveMaximum);
  if (typeof multipleOf === 'number' && !isMultiple(value, multipleOf))
    return wrong('is not a multiple of', multipleOf);
  return undefined;
}

/** 0.3 is a multiple of 0.1, although their quotient is not a whole number. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  return Math.abs(times - Math.round(times)) <= Number.EPSILON * Math.abs(times) && Number.isFinite(times);
}

/** In characters: no text that has a format is longer, and some of the formats are slow to check. */
const MAX_FORMATTED = 8192;
/** Not of JSON Schema; its pattern may take forever. */
const NO_FORMAT = 'url';

function checkString(schema: JsonObject, value: string, here: Position): Mismatch | undefined {
  const { minLength, maxLength, pattern, format } = schema;
  const wrong = (error: string): Mismatch => ({ at: here.at, error });
  if (typeof minLength === 'number' || typeof maxLength === 'number') {
    const length = measureString(value);
    if (length < Number(minLength ?? 0)) return wrong(`String is too short (${length} < ${minLength}).`);
    if (length > Number(maxLength ?? MANY)) return wrong(`String is too long (${length} > ${maxLength}).`);
  }
  if (typeof pattern === 'string' && !matchesSource(pattern, value, here))
    return wrong(`String does not match pattern ${pattern}`);
  const isFormat = typeof format === 'string' && format !== NO_FORMAT && Object.hasOwn(FORMATS, format);
  if (isFormat && (value.length > MAX_FORMATTED || FORMATS[format]?.(value) === false))
    return wrong(`String does not match format "${format}".`);
  return undefined;
}

function measureString(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

function matchesSource(source: string, text: string, { check, limit }: Position): boolean {
  return check.patterns.get(source)?.test(text, limit) ?? true;
}

function checkBranches(schema: JsonObject, value: JsonValue, here: Position): Mismatch | undefined {
  const { allOf, anyOf, oneOf, not, if: condition, then, else: otherwise } = schema;
  for (const each of toList(allOf)) {
    const wrong = applySchema(each, value, here);
    if (wrong !== undefined) return wrong;
  }
  if (anyOf !== undefined) {
    const { matches, last } = tryBranches(toList(anyOf), value, here);
    if (matches === 0) return last ?? { at: here.at, error: 'Instance does not match any subschemas.' };
  }
  if (oneOf !== undefined) {
    const { matches, last } = tryBranches(toList(oneOf), value, here);
    const error = `Instance does not match exactly one subschema (${matches} matches).`;
    if (matches !== 1) return (matches === 0 ? last : undefined) ?? { at: here.at, error };
  }
  if (not !== undefined && applySchema(not, value, { ...here, seen: new Set() }) === undefined)
    return { at: here.at, error: 'Instance matched "not" schema.' };
  if (condition === undefined) return undefined;
  const isTrue = tryBranches([condition], value, here).matches === 1;
  return applySchema(isTrue ? then : otherwise, value, here);
}

function tryBranches(schemas: readonly JsonValue[], value: JsonValue, here: Position) {
  let matches = 0;
  let last: Mismatch | undefined;
  for (const schema of schemas) {
    const seen: Seen = new Set();
    const wrong = applySchema(schema, value, { ...here, seen });
    last = wrong ?? last;
    if (wrong !== undefined) continue;
    matches += 1;
    for (const part of seen) here.seen.add(part);
  }
  return { matches, last };
}

function toList(value: Schema): readonly JsonValue[] {
  return isList(value) ? value : [];
}

function toEntries(value: Schema): readonly (readonly [string, JsonValue])[] {
  return isObject(value) ? (Object.entries(value) as [string, JsonValue][]) : [];
}

/** The keywords for objects and lists. What other schemas have seen of the value is known by now. */
function checkParts(schema: JsonObject, value: JsonValue, here: Position): Mismatch | undefined {
  if (isList(value)) return checkList(schema, value, here);
  return isObject(value) ? checkObject(schema, value as JsonObject, here) : undefined;
}

function applyWithin(schema: Schema, value: JsonValue, key: string | number, here: Position): Mismatch | undefined {
  here.seen.add(key);
  const step = String(key).replaceAll('~', '~0').replaceAll('/', '~1');
  return applySchema(schema, value, { ...here, at: `${here.at}/${step}`, seen: new Set() });
}

function checkObject(schema: JsonObject, value: JsonObject, here: Position): Mismatch | undefined {
  const names = Object.keys(value);
  const wrong = (error: string): Mismatch => ({ at: here.at, error });
  const { minProperties, maxProperties, propertyNames } = schema;
  const missing = listRequired(schema, value).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return wrong(`Instance does not have required property "${missing}".`);
  if (names.length < Number(minProperties ?? 0)) return wrong(`It has fewer than ${minProperties} properties.`);
  if (names.length > Number(maxProperties ?? MANY)) return wrong(`It has more than ${maxProperties} properties.`);
  for (const name of propertyNames === undefined ? [] : names) {
    const fault = applySchema(propertyNames, name, { ...here, seen: new Set() });
    if (fault !== undefined) return wrong(`The name of property "${name}" is wrong: ${fault.error}`);
  }
  for (const [name, dependent] of [...toEntries(schema.dependentSchemas), ...toEntries(schema.dependencies)]) {
    const fault = Object.hasOwn(value, name) && !isList(dependent) ? applySchema(dependent, value, here) : undefined;
    if (fault !== undefined) return fault;
  }
  return checkProperties(schema, value, here);
}

function listRequired(schema: JsonObject, value: JsonObject): readonly string[] {
  const dependent = [...toEntries(schema.dependentRequired), ...toEntries(schema.dependencies)]
    .filter(([name]) => Object.hasOwn(value, name))
    .flatMap(([, names]) => toList(names));
  return [...toList(schema.required), ...dependent].filter((name) => typeof name === 'string');
}

function checkProperties(schema: JsonObject, value: JsonObject, here: Position): Mismatch | undefined {
  const { properties, additionalProperties, unevaluatedProperties } = schema;
  const patterns = toEntries(schema.patternProperties);
  const named = isObject(properties) ? (properties as JsonObject) : {};
  for (const [name, item] of toEntries(value)) {
    const own = [
      ...(Object.hasOwn(named, name) ? [named[name]] : []),
      ...patterns.filter(([source]) => matchesSource(source, name, here)).map(([, each]) => each),
    ];
    if (own.length === 0 && additionalProperties !== undefined) own.push(additionalProperties);
    for (const each of own) {
      const wrong = applyWithin(each, item, name, here);
      if (wrong !== undefined) return wrong;
    }
  }
  if (unevaluatedProperties === undefined) return undefined;
  for (const [name, item] of toEntries(value)) {
    const wrong = here.seen.has(name) ? undefined : applyWithin(unevaluatedProperties, item, name, here);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function checkList(schema: JsonObject, value: readonly JsonValue[], here: Position): Mismatch | undefined {
  const { minItems, maxItems, items, prefixItems, additionalItems, uniqueItems, unevaluatedItems } = schema;
  const { length } = value;
  const wrong = (error: string): Mismatch => ({ at: here.at, error });
  if (length > Number(maxItems ?? MANY)) return wrong(`Array has too many items (${length} > ${maxItems}).`);
  if (length < Number(minItems ?? 0)) return wrong(`Array has too few items (${length} < ${minItems}).`);
  const first = isList(items) ? items : toList(prefixItems);
  const rest = isList(items) ? additionalItems : items;
  for (const [index, item] of value.entries()) {
    const each = index < first.length ? first[index] : rest;
    const fault = each === undefined ? undefined : applyWithin(each, item, index, here);
    if (fault !== undefined) return fault;
  }
  const contained = checkContained(schema, value, here);
  if (contained !== undefined) return contained;
  for (const [index, item] of unevaluatedItems === undefined ? [] : value.entries()) {
    const fault = here.seen.has(index) ? undefined : applyWithin(unevaluatedItems, item, index, here);
    if (fault !== undefined) return fault;
  }
  return uniqueItems === true ? checkUnique(value, here) : undefined;
}

function checkContained(schema: JsonObject, value: readonly JsonValue[], here: Position): Mismatch | undefined {
  const { contains, minContains, maxContains } = schema;
  if (contains === undefined) return undefined;
  const found = value.flatMap((item, index) =>
    applySchema(contains, item, { ...here, seen: new Set() }) === undefined ? [index] : [],
  );
  for (const index of found) here.seen.add(index);
  const [least, most] = [Number(minContains ?? 1), Number(maxContains ?? MANY)];
  if (found.length >= least && found.length <= most) return undefined;
  const wanted = found.length < least ? `at least ${least}` : `at most ${most}`;
  return { at: here.at, error: `Array must contain ${wanted} items matching schema, and has ${found.length}.` };
}

function checkUnique(value: readonly JsonValue[], here: Position): Mismatch | undefined {
  const places = new Map<string, number>();
  for (const [index, item] of value.entries()) {
    const text = toComparable(item, here);
    takeSteps(here.limit, 1);
    const earlier = places.get(text);
    if (earlier !== undefined) return { at: here.at, error: `Duplicate items at indexes ${earlier} and ${index}.` };
    places.set(text, index);
  }
  return undefined;
}

import { isList, isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { visible } from '../core/text/terminal.ts';
import type { ElicitationAnswer } from '../mcp/client/types.ts';

/** What may stand in one field of a form. */
export type FieldValue = Extract<ElicitationAnswer, { action: 'accept' }>['content'][string];

/** One field of the form a server asks to be filled in. */
export interface Field {
  readonly name: string;
  /** What is asked, with everything a person must know to answer; nothing in it a terminal would obey. */
  readonly label: string;
  readonly isRequired: boolean;
  readonly fallback?: FieldValue;
  /** The value that an answer means; undefined if it means none. */
  parse(answer: string): FieldValue | undefined;
}

/** A form longer than this is no question any more. */
const MAX_FIELDS = 50;

/** The fields of a form in their order; of a schema that says nothing there are none. Never throws. */
export function fieldsOf({ properties, required }: JsonObject): readonly Field[] {
  if (!isObject(properties)) return [];
  const names = isList(required) ? required : [];
  return Object.entries(properties)
    .slice(0, MAX_FIELDS)
    .map(([name, value]) => fieldOf(name, isObject(value) ? value : {}, names.includes(name)));
}

/** The answer that a form's own defaults give. */
export function defaultsOf(schema: JsonObject): Readonly<Record<string, FieldValue>> {
  return Object.fromEntries(
    fieldsOf(schema).flatMap(({ name, fallback }) => (fallback === undefined ? [] : [[name, fallback] as const])),
  );
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): Field {
  const fallback = parseField(schema.default);
  const choices = choicesOf(schema.type === 'array' && isObject(schema.items) ? schema.items : schema);
  const title = typeof schema.title === 'string' && schema.title !== '' ? schema.title : name;
  const notes = [
    typeof schema.description === 'string' ? schema.description : '',
    choices.length > 0 ? choices.map(({ value, title: shown }) => shown ?? value).join(' | ') : kindWords(schema),
    fallback === undefined ? '' : `Enter for ${String(fallback)}`,
    isRequired || fallback !== undefined ? '' : 'Enter to leave it out',
  ].filter((note) => note !== '');
  return {
    name,
    label: [title, ...(notes.length === 0 ? [] : [`(${notes.join('; ')})`])]
      .map((text) => visible(text).slice(0, 500))
      .join(' '),
    isRequired,
    ...(fallback === undefined ? {} : { fallback }),
    parse: (answer) => meaning(answer.trim(), schema, choices),
  };
}

function kindWords({ type }: JsonObject): string {
  if (type === 'boolean') return 'yes or no';
  return type === 'number' || type === 'integer' ? 'a number' : '';
}

interface Choice {
  readonly value: string;
  readonly title?: string;
}

/** `enum` with or without `enumNames`, `oneOf` and `anyOf` of constants. */
function choicesOf(schema: JsonObject): readonly Choice[] {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  const titled = [oneOf, anyOf].find(isList);
  if (titled !== undefined) {
    return titled.flatMap((item) => {
      if (!isObject(item) || typeof item.const !== 'string') return [];
      return [{ value: item.const, ...(typeof item.title === 'string' ? { title: item.title } : {}) }];
    });
  }
  if (!isList(values)) return [];
  return values.flatMap((value, index) => {
    const title = isList(enumNames) ? enumNames[index] : undefined;
    return typeof value === 'string' ? [{ value, ...(typeof title === 'string' ? { title } : {}) }] : [];
  });
}

function meaning(answer: string, schema: JsonObject, choices: readonly Choice[]): FieldValue | undefined {
  if (schema.type === 'array') {
    const picked = answer.split(',').map((word) => chosen(word.trim(), choices));
    return picked.every((word) => word !== undefined) ? picked : undefined;
  }
  if (choices.length > 0) return chosen(answer, choices);
  if (schema.type === 'boolean') return truthOf(answer.toLowerCase());
  if (schema.type !== 'number' && schema.type !== 'integer') return answer === '' ? undefined : answer;
  const number = answer === '' ? Number.NaN : Number(answer);
  const isRight = schema.type === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isRight ? number : undefined;
}

function chosen(answer: string, choices: readonly Choice[]): string | undefined {
  return choices.find(({ value, title }) => value === answer || title === answer)?.value;
}

function truthOf(answer: string): boolean | undefined {
  if (['y', 'yes', 'true'].includes(answer)) return true;
  return ['n', 'no', 'false'].includes(answer) ? false : undefined;
}

function parseField(value: JsonValue | undefined): FieldValue | undefined {
  if (isList(value)) return value.filter((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

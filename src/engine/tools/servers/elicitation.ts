import type { Elicit } from '../../../core/elicitation.ts';
import { isObject, type JsonObject, type JsonValue, toJsonObject } from '../../../core/json.ts';

/** Whoever answers without reading the reason is not asked for ever. */
const MAX_ROUNDS = 5;

/** Asks again, with the reason, as long as an answer is not what the server's schema wants; then it is cancelled. */
export function obeySchema(elicit: Elicit): Elicit {
  return async (question, signal) => {
    if (question.kind !== 'form') return elicit(question, signal);
    const { schema, message } = question;
    const properties = toJsonObject(schema.properties);
    const findFault = (field: string, value: JsonValue): Promise<string | undefined> =>
      findSchemaFault(Object.hasOwn(properties, field) ? properties[field] : undefined, value, field);
    let asked = { ...question, findFault };
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      const answer = await elicit(asked, signal);
      if (answer.action !== 'accept') return answer;
      const fault = await findSchemaFault(schema, toJsonObject(answer.content), 'the answer');
      if (fault === undefined) return answer;
      asked = { ...asked, message: `${fault}\n${message}` };
    }
    return { action: 'cancel' };
  };
}

/** Required arguments that are missing, or one of another type. All else is for the server to judge. */
export function findArgumentFault(schema: JsonObject, args: JsonObject): string | undefined {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.filter((name) => typeof name === 'string' && !Object.hasOwn(args, name));
  if (missing.length > 0) return `it needs ${missing.join(' and ')}`;
  const properties = toJsonObject(schema.properties);
  for (const [name, value] of Object.entries(args)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const { type } = isObject(property) ? property : {};
    const types = [type].flat();
    const found = typeOf(value ?? null);
    const isInteger = types.includes('integer') && Number.isInteger(value);
    // A type that is none says nothing about a value.
    const isUnknown = types.some((each) => !TYPES.some((known) => known === each));
    if (isUnknown || types.length === 0 || types.includes(found) || isInteger) continue;
    return `${name} must be of type ${types.join(' or ')}, and is of type ${found}`;
  }
  return undefined;
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** A schema that cannot be used says nothing about a value. */
async function findSchemaFault(
  schema: JsonValue | undefined,
  value: JsonValue,
  what: string,
): Promise<string | undefined> {
  if (!isObject(schema)) return undefined;
  const { createFaultFinder } = await import('../../answer/output-schema.ts');
  try {
    return (await createFaultFinder(schema as JsonObject, what))(value);
  } catch {
    return undefined;
  }
}

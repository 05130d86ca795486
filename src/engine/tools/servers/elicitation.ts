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

/** A required argument that is missing, or one of another type. All else is for the server to judge. */
export async function findArgumentFault(schema: JsonObject, args: JsonObject): Promise<string | undefined> {
  const properties = Object.entries(toJsonObject(schema.properties)).map(([name, property]) => {
    const { type } = isObject(property) ? (property as JsonObject) : {};
    return [name, type === undefined ? {} : { type }] as const;
  });
  const plain = { type: 'object', required: schema.required, properties: Object.fromEntries(properties) };
  return findSchemaFault(plain, args, 'the arguments');
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

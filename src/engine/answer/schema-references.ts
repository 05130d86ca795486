import { isList, isObject, type JsonObject, type JsonValue, toJsonObject } from '../../core/json.ts';

export type References = ReturnType<typeof createReferences>;

const BASE = 'schema:/';
/** Their values are not schemas. */
const DATA = ['enum', 'const', 'default', 'examples'];

/** Finds the schemas of one document by JSON pointer, `$id` and `$anchor`. Nothing is fetched. */
export function createReferences(document: JsonObject) {
  const known = new Map<string, JsonValue>();
  const bases = new Map<JsonObject, string>();
  const read = (schema: JsonValue, base: string, pointer: string): void => {
    for (const [index, each] of isList(schema) ? schema.entries() : []) read(each, base, `${pointer}/${index}`);
    if (!isObject(schema)) {
      if (typeof schema === 'boolean') known.set(`${base}#${pointer}`, schema);
      return;
    }
    const own = schema as JsonObject;
    const id = own.$id ?? own.id;
    const here = typeof id === 'string' ? toAddress(id, base) : `${base}#`;
    const isNew = typeof id === 'string' && here.endsWith('#') && here !== `${base}#`;
    const [at, path] = isNew ? [here.slice(0, -1), ''] : [base, pointer];
    if (typeof id === 'string') known.set(here, own);
    known.set(`${base}#${pointer}`, own);
    known.set(`${at}#${path}`, own);
    if (typeof own.$anchor === 'string') known.set(`${at}#${own.$anchor}`, own);
    bases.set(own, at);
    for (const [key, value] of Object.entries(own)) {
      if (value !== undefined && !DATA.includes(key)) read(value, at, `${path}/${escapeStep(key)}`);
    }
  };
  read(document, BASE, '');
  return {
    listPatterns: (): readonly string[] =>
      [...bases.keys()].flatMap((schema) => {
        const { pattern, patternProperties } = schema;
        return [...(typeof pattern === 'string' ? [pattern] : []), ...Object.keys(toJsonObject(patternProperties))];
      }),
    /** What the `$ref` of a schema refers to; undefined if it has none. Throws Error if it leads nowhere. */
    find(schema: JsonObject): JsonValue | undefined {
      const reference = schema.$ref ?? schema.$recursiveRef ?? schema.$dynamicRef;
      if (typeof reference !== 'string') return undefined;
      const found = known.get(toAddress(reference, bases.get(schema) ?? BASE));
      if (found === undefined) throw new Error(`Unresolved $ref "${reference}".`);
      return found;
    },
  };
}

/** With a `#` in any case; the fragment is decoded. */
function toAddress(reference: string, base: string): string {
  const url = new URL(reference, base);
  const fragment = decodeURIComponent(url.hash.slice(1));
  url.hash = '';
  return `${url.href}#${fragment}`;
}

function escapeStep(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

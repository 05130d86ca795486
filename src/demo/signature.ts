import { canonicalJson, type JsonObject, toJsonObject } from '../core/json.ts';
import { hashHex } from './embed.ts';
import { type DemoContent, findActiveLoop, isFunctionCall } from './request.ts';
import { isThirdFamily } from './rules.ts';

/** Sent by clients that have no signature to return: as Google's pages write them, and by its SDKs in base64. */
const SKIPS: ReadonlySet<unknown> = new Set(
  ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'].flatMap((text) => [
    text,
    Buffer.from(text).toString('base64'),
  ]),
);

export type SignatureBook = ReturnType<typeof createSignatureBook>;

/** The most calls to remember. An older one may come back without a signature, but not with a wrong one. */
const MAX_CALLS = 10_000;

/** A call must come back with the signature it was issued. */
export function createSignatureBook() {
  const issued = new Map<string, Set<string>>();
  const recordSignature = (call: JsonObject, signature: string): void => {
    const key = toSignedKey(call);
    const signatures = issued.get(key) ?? new Set();
    issued.delete(key);
    issued.set(key, signatures.add(signature));
    const [oldest] = issued.keys();
    if (issued.size > MAX_CALLS && oldest !== undefined) issued.delete(oldest);
  };
  const isValid = (call: JsonObject, signature: unknown): boolean =>
    SKIPS.has(signature) ||
    signature === deriveSignature(call) ||
    (typeof signature === 'string' && issued.get(toSignedKey(call))?.has(signature) === true);
  return {
    isValid,
    sign(call: JsonObject): string {
      const signature = deriveSignature(call);
      recordSignature(call, signature);
      return signature;
    },
    record(response: JsonObject): void {
      for (const part of listCandidateParts(response)) {
        if (isFunctionCall(part) && typeof part.thoughtSignature === 'string') {
          recordSignature(toJsonObject(part.functionCall), part.thoughtSignature);
        }
      }
    },
    check(contents: readonly DemoContent[], model: string): string | undefined {
      for (const { role, parts } of findActiveLoop(contents)) {
        const calls = role === 'model' ? parts.filter(isFunctionCall) : [];
        for (const [index, part] of calls.entries()) {
          const call = toJsonObject(part.functionCall);
          const needsOne = index === 0 && (isThirdFamily(model) || issued.has(toSignedKey(call)));
          if (part.thoughtSignature === undefined && needsOne) {
            return `Function call is missing a thought_signature in functionCall parts: call of \`${String(call.name)}\`.`;
          }
          if (part.thoughtSignature !== undefined && !isValid(call, part.thoughtSignature)) {
            return `Thought signature is not valid: call of \`${String(call.name)}\`.`;
          }
        }
      }
      return undefined;
    },
  };
}

function toSignedKey(call: JsonObject): string {
  return `${String(call.name)} ${canonicalJson(call.args ?? {})}`;
}

function deriveSignature(call: JsonObject): string {
  const key = toSignedKey(call);
  return Buffer.from(`gmn demo ${[1, 2, 3, 4].map((seed) => hashHex(key, seed)).join('')}`).toString('base64');
}

function listCandidateParts(response: JsonObject): readonly JsonObject[] {
  const { candidates } = response;
  return (Array.isArray(candidates) ? candidates : []).flatMap((candidate) => {
    const { parts } = toJsonObject(toJsonObject(candidate).content);
    return Array.isArray(parts) ? parts.map(toJsonObject) : [];
  });
}

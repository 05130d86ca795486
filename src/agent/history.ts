import {
  type CallPart,
  type Content,
  isResponse,
  type Part,
  type ResponsePart,
  type StoredContent,
  UNNAMED_TOOL,
} from '../core/content.ts';
import { isObject, type JsonObject, toNonEmptyString } from '../core/json.ts';

/** The API accepts this in place of a missing signature. https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator';

const LOST_RESPONSE = { error: '[no answer was recorded]' };

const NON_DATA_FIELDS: readonly string[] = ['thought', 'thoughtSignature'];

interface ContentsOptions {
  readonly origin: () => string;
  /** How many contents, from the first, are sent without their signatures. */
  readonly distrusted: number;
}

/**
 * Converts a conversation to what the API accepts, even if parts were cut off, lost or written elsewhere: it starts
 * with the user, roles alternate, and every call has its response, in order, in the next content. Leaves out thoughts
 * and empty parts. Sends the model's other parts and signatures back unchanged, except that signatures of another
 * origin are replaced. Deterministic.
 */
export function toContents(kept: readonly StoredContent[], options: ContentsOptions): readonly Content[] {
  const turns: Turn[] = [];
  for (const piece of joinPieces(toPieces(kept, options))) {
    const last = turns.at(-1);
    if (piece.role === 'user') turns.push(...addResponses(last, piece));
    else if (last?.role === 'model') last.parts.push(...piece.parts);
    else if (last !== undefined) turns.push(piece);
  }
  const last = turns.at(-1);
  if (last?.role === 'model') turns.push(...addResponses(last, { role: 'user', answers: [], parts: [] }));
  return addSignatures(turns);
}

interface Turn<Role = 'user' | 'model'> {
  readonly role: Role;
  readonly parts: Part[];
}

interface Response {
  readonly part: ResponsePart;
  readonly media: Part[];
}

interface UserPiece extends Turn<'user'> {
  readonly answers: Response[];
}

type Piece = Turn<'model'> | UserPiece;

function toPieces(kept: readonly StoredContent[], { origin, distrusted }: ContentsOptions): readonly Piece[] {
  return kept.map((content, index) => {
    if (content.role === 'user') return toUserPiece(content);
    const isOtherOrigin = index < distrusted || content.origin === undefined || content.origin !== origin();
    return { role: 'model', parts: content.parts.flatMap((part) => toModelParts(part, isOtherOrigin)) };
  });
}

function toModelParts(part: Part, isOtherOrigin: boolean): readonly Part[] {
  if (isCall(part)) return [toCallPart(part, isOtherOrigin)];
  if ('thought' in part && part.thought === true) return [];
  // The API rejects a function response from the model and a part without data; neither carries content.
  if ('functionResponse' in part || Object.keys(part).every((key) => NON_DATA_FIELDS.includes(key))) return [];
  const isSigned = 'thoughtSignature' in part && part.thoughtSignature !== undefined && !isOtherOrigin;
  // An empty text matters only for its signature.
  if ('text' in part && part.text === '' && !isSigned) return [];
  return [isOtherOrigin ? replaceSignature(part) : part];
}

function toCallPart(part: CallPart, isOtherOrigin: boolean): CallPart {
  const { args, ...rest } = part.functionCall;
  const name = toNonEmptyString(rest.name);
  if (name !== undefined && (args === undefined || isObject(args)))
    return isOtherOrigin ? replaceSignature(part) : part;
  const functionCall = { ...rest, name: name ?? UNNAMED_TOOL, args: isObject(args) ? args : undefined };
  return isOtherOrigin ? replaceSignature({ ...part, functionCall }) : { ...part, functionCall };
}

function replaceSignature<Kind extends Part>(part: Kind): Kind {
  return 'thoughtSignature' in part ? { ...part, thoughtSignature: NO_SIGNATURE } : part;
}

function toUserPiece({ parts }: StoredContent): UserPiece {
  const piece: UserPiece = { role: 'user', answers: [], parts: [] };
  for (const part of parts) {
    if (isResponse(part)) piece.answers.push({ part, media: [] });
    // Media parts follow the function response they belong to.
    else (piece.answers.at(-1)?.media ?? piece.parts).push(part);
  }
  return piece;
}

function joinPieces(list: readonly Piece[]): readonly Piece[] {
  const result: Piece[] = [];
  for (const piece of list) {
    const last = result.at(-1);
    if (piece.role === 'user' && last?.role === 'user') {
      last.answers.push(...piece.answers);
      last.parts.push(...piece.parts);
    } else if (piece.role === 'model' && last?.role === 'model') {
      last.parts.push(...piece.parts);
    } else if (piece.parts.length > 0 || piece.role === 'user') {
      result.push(piece);
    }
  }
  return result;
}

/**
 * The user content after `previous`: a response to each of its calls, then the user's own parts. Empty if there are none.
 */
function addResponses(previous: Turn | undefined, { answers, parts }: UserPiece): readonly Turn[] {
  const given = previous?.role === 'model' ? pairResponses(previous, answers) : [];
  const all = [...given, ...parts];
  return all.length === 0 ? [] : [{ role: 'user', parts: all }];
}

/** One response for each call of `previous`, in order, with its name and id; drops responses without a call. */
function pairResponses(previous: Turn, answers: readonly Response[]): readonly Part[] {
  const open = [...answers];
  const ids = new Set(previous.parts.map((part) => (isCall(part) ? part.functionCall.id : undefined)));
  return previous.parts.flatMap((part, index) => {
    if (!isCall(part)) return [];
    const { functionCall } = part;
    const { name } = functionCall;
    const found = open.findIndex(({ part: { functionResponse: answer } }) =>
      // Ids made by gmn are not among the model's: match such responses by name and order.
      answer.id !== undefined && ids.has(answer.id) ? answer.id === functionCall.id : answer.name === name,
    );
    const answer = found === -1 ? undefined : open.splice(found, 1)[0];
    const id = functionCall.id ?? answer?.part.functionResponse.id;
    // Where the model gave no id, use gmn's id on both sides.
    previous.parts[index] = { ...part, functionCall: { ...functionCall, id } };
    const response = answer === undefined ? LOST_RESPONSE : toResponseObject(answer.part.functionResponse.response);
    return [{ functionResponse: { id, name, response } }, ...(answer?.media ?? [])];
  });
}

function toResponseObject(response: unknown): JsonObject {
  return isObject(response) ? (response as JsonObject) : { output: String(response) };
}

/**
 * In the current tool loop the API requires a signature on the first call of every content. Older contents get one, too:
 * they had it when their loop was the current one, and a change would invalidate the service's cache.
 */
function addSignatures(turns: readonly Turn[]): readonly Content[] {
  return turns.map((turn) => {
    const first = turn.role === 'model' ? turn.parts.findIndex(isCall) : -1;
    const part = turn.parts[first];
    if (part === undefined || !isCall(part) || part.thoughtSignature) return turn;
    return { ...turn, parts: turn.parts.with(first, { ...part, thoughtSignature: NO_SIGNATURE }) };
  });
}

function isCall(part: Part): part is CallPart {
  return 'functionCall' in part && isObject(part.functionCall);
}

import {
  type AnswerPart,
  type CallPart,
  type Content,
  type KeptContent,
  NAMELESS,
  type Part,
} from '../core/content.ts';
import { isObject, type JsonObject, stringOf } from '../core/json.ts';

/** What the API takes where a signature is wanted and there is none. https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** The answer to a call whose own was lost. */
const LOST = { error: '[no answer was recorded]' };

/** What a part may have besides its data. */
const BESIDE_DATA: readonly string[] = ['thought', 'thoughtSignature'];

interface WireOptions {
  /** Whose signatures the server will know. */
  readonly origin: string;
  /** So many contents, from the first, go without their signatures. */
  readonly distrusted: number;
}

/**
 * A conversation as the API takes it, whatever was cut off, lost or written elsewhere: it begins with the user, roles
 * alternate, every call has its answer, in order, in the next content. Thoughts, and parts that say nothing, stay home; the model's other parts and
 * signatures go back as they came, those of another origin replaced. The same input gives the same output.
 */
export function wireContents(kept: readonly KeptContent[], options: WireOptions): readonly Content[] {
  const turns: Turn[] = [];
  for (const piece of joined(pieces(kept, options))) {
    const last = turns.at(-1);
    if (piece.role === 'user') turns.push(...answered(last, piece));
    else if (last?.role === 'model') last.parts.push(...piece.parts);
    else if (last !== undefined) turns.push(piece);
  }
  const last = turns.at(-1);
  if (last?.role === 'model') turns.push(...answered(last, { role: 'user', answers: [], parts: [] }));
  return signed(turns);
}

interface ModelTurn {
  readonly role: 'model';
  readonly parts: Part[];
}

interface UserTurn {
  readonly role: 'user';
  readonly parts: Part[];
}

type Turn = ModelTurn | UserTurn;

/** An answer with the media that came with it. */
interface Answer {
  readonly part: AnswerPart;
  readonly media: Part[];
}

/** The user's side of a piece: answers, and what the person said. */
interface UserPiece extends UserTurn {
  readonly answers: Answer[];
}

type Piece = ModelTurn | UserPiece;

function pieces(kept: readonly KeptContent[], { origin, distrusted }: WireOptions): readonly Piece[] {
  return kept.map((content, index) => {
    if (content.role === 'user') return userPiece(content);
    const isForeign = index < distrusted || content.origin !== origin;
    return { role: 'model', parts: content.parts.flatMap((part) => modelParts(part, isForeign)) };
  });
}

/** A part of the model as it goes back: none, or one. */
function modelParts(part: Part, isForeign: boolean): readonly Part[] {
  if (isCall(part)) return [callPart(part, isForeign)];
  if ('thought' in part && part.thought === true) return [];
  // The API refuses an answer of the model, and a part without data; nothing is said by either.
  if ('functionResponse' in part || Object.keys(part).every((key) => BESIDE_DATA.includes(key))) return [];
  const isSigned = 'thoughtSignature' in part && part.thoughtSignature !== undefined && !isForeign;
  // An empty text says nothing; its signature does.
  if ('text' in part && part.text === '' && !isSigned) return [];
  return [isForeign ? resigned(part) : part];
}

/** The call as it came, except for what the API would refuse: a missing name, arguments that are no object. */
function callPart(part: CallPart, isForeign: boolean): CallPart {
  const { args, ...rest } = part.functionCall;
  const name = stringOf(rest.name);
  if (name !== undefined && (args === undefined || isObject(args))) return isForeign ? resigned(part) : part;
  const functionCall = { ...rest, name: name ?? NAMELESS, ...(isObject(args) ? { args } : {}) };
  return isForeign ? resigned({ ...part, functionCall }) : { ...part, functionCall };
}

function resigned<Kind extends Part>(part: Kind): Kind {
  return 'thoughtSignature' in part ? { ...part, thoughtSignature: NO_SIGNATURE } : part;
}

function userPiece({ parts }: KeptContent): UserPiece {
  const piece: UserPiece = { role: 'user', answers: [], parts: [] };
  for (const part of parts) {
    if (isAnswer(part)) piece.answers.push({ part, media: [] });
    // What follows an answer in its content came with it.
    else (piece.answers.at(-1)?.media ?? piece.parts).push(part);
  }
  return piece;
}

/** Neighbours of one role as one. */
function joined(list: readonly Piece[]): readonly Piece[] {
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

/** The user's content after `asked`: the answer to each of its calls, then what the person said. None if that is nothing. */
function answered(asked: Turn | undefined, { answers, parts }: UserPiece): readonly UserTurn[] {
  const given = asked?.role === 'model' ? paired(asked, answers) : [];
  const all = [...given, ...parts];
  return all.length === 0 ? [] : [{ role: 'user', parts: all }];
}

/** One answer for each call of `asked`, in its order, under its name and id; answers to nothing are left out. */
function paired(asked: ModelTurn, answers: readonly Answer[]): readonly Part[] {
  const open = [...answers];
  const ids = new Set(asked.parts.map((part) => (isCall(part) ? part.functionCall.id : undefined)));
  return asked.parts.flatMap((part, index) => {
    if (!isCall(part)) return [];
    const { functionCall } = part;
    const { name } = functionCall;
    const found = open.findIndex(({ part: { functionResponse: answer } }) =>
      // Ids of ours are not among the model's: such answers follow the order of the calls.
      answer.id !== undefined && ids.has(answer.id) ? answer.id === functionCall.id : answer.name === name,
    );
    const answer = found === -1 ? undefined : open.splice(found, 1)[0];
    const id = functionCall.id ?? answer?.part.functionResponse.id;
    const withId = id === undefined ? {} : { id };
    // Where the model gave no id, ours stands on both sides.
    asked.parts[index] = { ...part, functionCall: { ...functionCall, ...withId } };
    const response = answer === undefined ? LOST : responseOf(answer.part.functionResponse.response);
    return [{ functionResponse: { ...withId, name, response } }, ...(answer?.media ?? [])];
  });
}

function responseOf(response: unknown): JsonObject {
  return isObject(response) ? parseResponse(response) : { output: String(response) };
}

function parseResponse(response: object): JsonObject {
  return response as JsonObject;
}

/** In the loop that is under way, the first call of every content must be signed. */
function signed(turns: readonly Turn[]): readonly Content[] {
  const start = turns.findLastIndex(({ role, parts }) => role === 'user' && !parts.some(isAnswer));
  return turns.map((turn, index) => {
    const first = index > start && turn.role === 'model' ? turn.parts.findIndex(isCall) : -1;
    const part = turn.parts[first];
    if (part === undefined || !isCall(part) || part.thoughtSignature) return turn;
    return { ...turn, parts: turn.parts.with(first, { ...part, thoughtSignature: NO_SIGNATURE }) };
  });
}

function isCall(part: Part): part is CallPart {
  return 'functionCall' in part && isObject(part.functionCall);
}

function isAnswer(part: Part): part is AnswerPart {
  return 'functionResponse' in part && isObject(part.functionResponse);
}

/** A piece of a prompt. The `raw` of all pieces together are the prompt. */
export type PromptPiece =
  | { readonly kind: 'text'; readonly raw: string }
  /** `\@` at the start of a word. */
  | { readonly kind: 'escape'; readonly raw: string }
  | { readonly kind: 'mention'; readonly raw: string; readonly paths: readonly string[] };

const WORD =
  /(?<=^|[\s(])(?<escaped>\\@)|(?<=^|[\s(])@(?:"(?<quoted>(?:[^"\\\r\n]|\\.)+)"|(?<bare>(?:\\\s|[^\s"])+))/gu;

/** Where a path may end although the word goes on: `@a.txt, and`, `(@a.txt)`, `@a.txt's`, `@a.txtを`. */
const STOP = /[,;!?'`()[\]{}<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}]|(?![\0-\x7f])\p{Po}/u;
/** These are common inside a path and mean something in `@<server>:<uri>`: they end one only at the end, or before a line number. */
const WEAK_STOP = /^(?:[.:]+|:\d+(?::\d+)?)$/;
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
const MAX_PATHS = 16;
const MAX_PATH_LENGTH = 4096;

/**
 * Cuts a prompt at its `@` mentions, without looking at the disk: `paths` are what the mention may stand for, the
 * longest first. Nothing is lost: the pieces, joined, are the prompt.
 */
export function parseMentions(prompt: string): readonly PromptPiece[] {
  const pieces: PromptPiece[] = [];
  let end = 0;
  const push = (piece: PromptPiece): void => {
    if (piece.raw !== '') pieces.push(piece);
    end += piece.raw.length;
  };
  for (const match of prompt.matchAll(WORD)) {
    push({ kind: 'text', raw: prompt.slice(end, match.index) });
    const [raw] = match;
    const { escaped, quoted, bare } = match.groups ?? {};
    if (escaped !== undefined) push({ kind: 'escape', raw });
    else if (quoted !== undefined) push({ kind: 'mention', raw, paths: within([quoted.replace(/\\(["\\])/g, '$1')]) });
    else push({ kind: 'mention', raw, paths: within(endings(bare ?? '').map(unescapeSpaces)) });
  }
  push({ kind: 'text', raw: prompt.slice(end) });
  return pieces;
}

function within(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => path !== '' && path.length <= MAX_PATH_LENGTH && !path.includes('\0'));
}

function unescapeSpaces(path: string): string {
  return path.replace(/\\(\s)/g, '$1');
}

function endings(word: string): readonly string[] {
  const found = [word];
  let end = word.length;
  for (let index = word.length - 1; index > 0 && found.length < MAX_PATHS; index -= 1) {
    if (!endsAt(word, index, end)) continue;
    found.push(word.slice(0, index));
    end = index;
  }
  return found;
}

/** Whether a path may end before `index`, given that the next longer one ends at `end`. */
function endsAt(word: string, index: number, end: number): boolean {
  const character = word[index] ?? '';
  if (STOP.test(character) || WEAK_STOP.test(word.slice(index, end))) return true;
  return CJK.test(character) && (word[index - 1] ?? '') < '\x80';
}

/** Hosts cut, reject or hide longer answers. */
const PAGE_CHARACTERS = 40_000;

const MAX_ANSWERS = 64;
const MAX_CHARACTERS = 32_000_000;

export interface Page {
  readonly text: string;
  readonly next?: string;
}

export type Pages = ReturnType<typeof createPages>;

/** Held in memory as long as there is room. */
export function createPages(newId: () => string) {
  const answers = new Map<string, readonly string[]>();
  let characters = 0;
  const forget = (id: string): void => {
    characters -= countCharacters(answers.get(id) ?? []);
    answers.delete(id);
  };
  const toNext = (id: string, index: number): { readonly next?: string } =>
    index + 1 < (answers.get(id)?.length ?? 0) ? { next: `gmn://answers/${id}/${index + 2}` } : {};
  return {
    split(text: string): Page {
      if (text.length <= PAGE_CHARACTERS) return { text };
      const id = newId();
      const parts = splitPages(text, PAGE_CHARACTERS);
      answers.set(id, parts);
      characters += countCharacters(parts);
      for (const oldest of [...answers.keys()]) {
        if (oldest === id || (answers.size <= MAX_ANSWERS && characters <= MAX_CHARACTERS)) break;
        forget(oldest);
      }
      return { text: parts[0] ?? '', ...toNext(id, 0) };
    },
    /** Undefined also if the page has been dropped. */
    read(uri: string): Page | undefined {
      const [, id = '', number = ''] = /^gmn:\/\/answers\/([\w-]+)\/(\d{1,6})$/.exec(uri) ?? [];
      const index = Number(number) - 1;
      const text = answers.get(id)?.[index];
      return text === undefined ? undefined : { text, ...toNext(id, index) };
    },
  };
}

/** Never splits a surrogate pair. */
export function splitPages(text: string, characters: number): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + characters;
    const splitsPair = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && end < text.length;
    parts.push(text.slice(at, splitsPair ? end - 1 : end));
    at = splitsPair ? end - 1 : end;
  }
  return parts;
}

function countCharacters(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

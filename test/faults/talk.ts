import { call, chunk, END, type FakeGemini, fakeGemini, finish, stream } from '../support/gemini.ts';

/** Has the same conversation with every client, of any number of processes. */
export interface TalkativeGemini extends FakeGemini {
  /** The texts of the last request, in order. */
  heard(): readonly string[];
}

/**
 * Answers a prompt that ends in a number with a signed call of `list_directory`, and its result with `answer <number>.` in two pieces.
 * Calls `onEvent` at every request and every piece.
 */
export async function talkativeGemini(
  t: Parameters<typeof fakeGemini>[0],
  onEvent: () => void = () => {},
): Promise<TalkativeGemini> {
  let heard: readonly string[] = [];
  const gemini = await fakeGemini(t, (response, request) => {
    onEvent();
    const contents: readonly { readonly parts: readonly { readonly text?: string }[] }[] = request.body.contents;
    heard = contents.flatMap(({ parts }) => parts.flatMap(({ text }) => text ?? []));
    const number = Number(/(\d+)$/.exec(heard.findLast((text) => /^prompt \d+$/.test(text)) ?? '')?.[1] ?? 0);
    const pieces =
      request.results.length > 0
        ? [chunk([{ text: `answer ${number}` }]), finish('STOP', [{ text: '.' }])]
        : [finish('STOP', [signedCall(number)])];
    return stream(...pieces.flatMap((piece) => [piece, onEvent]), END)(response, request);
  });
  return { ...gemini, heard: () => heard };
}

function signedCall(number: number): object {
  const thoughtSignature = Buffer.from(`signed ${number}`).toString('base64');
  return call('list_directory', { path: '.' }, { id: `call-${number}`, thoughtSignature });
}

import { expect, test } from 'vitest';
import { conversationObjection, requestObjection, type WirePart } from '../support/gemini-rules.ts';

const CALL = { functionCall: { id: 'c1', name: 'look', args: { at: 'a' } }, thoughtSignature: 'c2lnbmVk' };
const OTHER = { functionCall: { id: 'c2', name: 'look', args: { at: 'b' } } };
const REPLY: readonly WirePart[] = [{ text: 'hm', thought: true }, { text: 'I look.' }, CALL, OTHER];
const LOOK = {
  name: 'look',
  description: 'Looks.',
  parametersJsonSchema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
};

function response(id: string, more: object = {}): object {
  return { functionResponse: { id, name: 'look', response: { output: 'x' }, ...more } };
}

const ASKED = { role: 'user', parts: [{ text: 'Look.' }] };
const REPLIED = { role: 'model', parts: REPLY.slice(1) };
const ANSWERED = { role: 'user', parts: [response('c1'), response('c2')] };
const GOOD = {
  systemInstruction: { parts: [{ text: 'Be kind.' }] },
  tools: [{ functionDeclarations: [LOOK] }],
  generationConfig: { temperature: 1 },
  contents: [ASKED, REPLIED, ANSWERED],
};

/** The good request with another answer, other contents, or another declaration. */
const answered = (...parts: readonly object[]) => ({ contents: [ASKED, REPLIED, { role: 'user', parts }] });
const replied = (...parts: readonly object[]) => ({ contents: [ASKED, { role: 'model', parts }, ANSWERED] });
const declared = (more: object) => ({ tools: [{ functionDeclarations: [{ ...LOOK, ...more }] }] });

test('a good request is taken, with what was said before or without', () => {
  expect(conversationObjection(JSON.stringify(GOOD), [REPLY])).toBeUndefined();
  expect(requestObjection(JSON.stringify(GOOD))).toBeUndefined();
  expect(conversationObjection(JSON.stringify({ contents: [ASKED] }), [])).toBeUndefined();
});

test.for<readonly [what: string, change: object, why: string]>([
  ['an unknown field', { sessionId: 'x' }, 'unknown name sessionId'],
  ['an unknown field of the configuration', { generationConfig: { verbosity: 1 } }, 'unknown name verbosity'],
  ['no contents', { contents: [] }, 'contents is empty'],
  ['contents that are none', { contents: {} }, 'contents is no list'],
  ['a beginning by the model', { contents: [REPLIED, ANSWERED] }, 'contents[0]: role model out of turn'],
  ['two contents of one side', { contents: [ASKED, ASKED] }, 'contents[1]: role user out of turn'],
  ['an end by the model', { contents: [ASKED, REPLIED] }, 'the last content is not the user’s'],
  ['another role', { contents: [{ ...ASKED, role: 'system' }] }, 'contents[0]: role system out of turn'],
  ['an unknown field of a content', { contents: [{ ...ASKED, name: 'x' }] }, 'contents[0]: unknown name name'],
  ['a content without parts', { contents: [{ role: 'user', parts: [] }] }, 'contents[0]: no parts'],
  ['an empty text', { contents: [{ role: 'user', parts: [{ text: '' }] }] }, 'contents[0]: an empty text'],
  ['a part without data', { contents: [{ role: 'user', parts: [{ note: 1 }] }] }, 'contents[0]: no data'],
  ['a call without an answer', answered(response('c1')), 'contents[2]: calls look#c1,look#c2 but responses look#c1'],
  ['answers in another order', answered(response('c2'), response('c1')), 'contents[2]: calls look#c1'],
  [
    'an answer of another name',
    answered(response('c1', { name: 'see' }), response('c2')),
    'contents[2]: calls look#c1',
  ],
  [
    'an answer to nothing',
    { contents: [{ role: 'user', parts: [response('c1')] }] },
    'contents[0]: calls  but responses',
  ],
  [
    'an answer that is no object',
    answered(response('c1', { response: 'x' }), response('c2')),
    'contents[2]: a response is',
  ],
  ['a call by the user', { contents: [{ role: 'user', parts: [OTHER] }] }, 'contents[0]: a part of the model'],
  ['a thought', replied(...REPLY), 'contents[1]: a thought came back'],
  [
    'a lost signature',
    replied({ text: 'I look.' }, { functionCall: CALL.functionCall }, OTHER),
    'Function call has no valid',
  ],
  [
    'a changed signature',
    replied({ text: 'I look.' }, { ...CALL, thoughtSignature: 'c2lnbmVL' }, OTHER),
    'contents[1]: a thought_signature nobody issued',
  ],
  [
    'a signature on another part',
    replied({ text: 'I look.', thoughtSignature: 'c2lnbmVk' }, CALL, OTHER),
    'reply 0 came back as',
  ],
  ['other words of the model', replied({ text: 'I see.' }, CALL, OTHER), 'reply 0 came back as'],
  ['an instruction without text', { systemInstruction: { parts: [{ text: '' }] } }, 'systemInstruction: has no text'],
  ['no tools', { tools: [] }, 'tools: is no list of tools'],
  ['an unknown tool', { tools: [{ retrieval: {} }] }, 'tools: unknown name retrieval'],
  ['a name that is none', declared({ name: 'look here' }), 'tools: name is none'],
  ['a declaration twice', { tools: [{ functionDeclarations: [LOOK, LOOK] }] }, 'tools: look is declared twice'],
  ['an unknown field of a declaration', declared({ strict: true }), 'tools: look: unknown name strict'],
  ['no description', declared({ description: '' }), 'tools: look: has no description'],
  [
    'parameters that are no object',
    declared({ parametersJsonSchema: { type: 'string' } }),
    'tools: look: the parameters',
  ],
  [
    'a field that Vertex does not know',
    declared({ parametersJsonSchema: { ...LOOK.parametersJsonSchema, additionalProperties: false } }),
    'tools: look: parameters.additionalProperties: unknown field',
  ],
  [
    'too many functions',
    {
      tools: [{ functionDeclarations: Array.from({ length: 129 }, (_, index) => ({ ...LOOK, name: `look${index}` })) }],
    },
    'tools: more than 128 functions',
  ],
  [
    'a request that is too large',
    { contents: [{ role: 'user', parts: [{ text: 'x'.repeat(2e7) }] }] },
    'the request is larger',
  ],
])('refused: %s', ([, change, why]) => {
  expect(conversationObjection(JSON.stringify({ ...GOOD, ...change }), [REPLY])).toContain(why);
});

test('refused: what is no JSON object, a reply that nobody gave, and one that is missing', () => {
  expect(requestObjection('{')).toBe('the request is not JSON');
  expect(requestObjection('[]')).toBe('the request is no object');
  const [first] = GOOD.contents;
  const again = { contents: [ASKED, { role: 'model', parts: [{ text: 'Yes.' }] }, ASKED] };
  expect(conversationObjection(JSON.stringify(again), [])).toContain('a reply that nobody gave');
  expect(conversationObjection(JSON.stringify({ contents: [first] }), [REPLY])).toContain(
    'reply 0 came back as undefined',
  );
});

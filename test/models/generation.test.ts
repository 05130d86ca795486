import fc from 'fast-check';
import { expect, test } from 'vitest';
import { THINKING_LEVELS, type ThinkingLevel } from '../../src/core/model.ts';
import {
  createGenerationConfig,
  findIgnoredSampling,
  findThinkingChange,
  type Sampling,
} from '../../src/models/generation.ts';
import { MODELS } from '../../src/models/table.ts';

const LEVELS = THINKING_LEVELS;

const refusal = (model: string, sampling: Sampling): unknown => {
  try {
    return createGenerationConfig(model, sampling);
  } catch (thrown) {
    const { fault, message, hint } = thrown as { fault: string; message: string; hint: string };
    return { fault, message, hint };
  }
};

test('the defaults, with sampling fields only for models that read them', () => {
  const sampling = { temperature: 1, topP: 0.95, topK: 40 };
  expect(createGenerationConfig('gemma-4-31b-it', {})).toEqual({ ...sampling, maxOutputTokens: 32_768 });
  for (const model of ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-pro-preview', 'gemini-3-flash-preview']) {
    expect(createGenerationConfig(model, {})).toEqual({ ...sampling, maxOutputTokens: 65_536 });
  }
  for (const model of [
    'gemini-3.5-flash',
    'gemini-3.5-flash-lite',
    'gemini-4-argon',
    'gemini-3.6-flash',
    'gemini-3.8-flash',
    'gemini-flash-latest',
  ]) {
    expect(createGenerationConfig(model, {})).toEqual({ maxOutputTokens: 65_536 });
  }
  expect(createGenerationConfig('gemini-9-new', {})).toEqual({ maxOutputTokens: 65_536 });
  expect(createGenerationConfig('gemini-2.0-flash', {})).toEqual({ maxOutputTokens: 8192 });
  expect(createGenerationConfig('gemini-3.1-flash-image', {})).toEqual({ responseModalities: ['TEXT', 'IMAGE'] });
  // These two are not in the table.
  expect(createGenerationConfig('gemini-9-flash-image-preview', {})).toEqual({ responseModalities: ['TEXT', 'IMAGE'] });
  expect(createGenerationConfig('gemini-2.5-pro-preview-tts', {})).toEqual({ responseModalities: ['AUDIO'] });
  expect(createGenerationConfig('gemini-3.8-flash-tts', {})).toEqual({ responseModalities: ['AUDIO'] });
  expect(createGenerationConfig('gemini-9-imagery', {})).toEqual({ maxOutputTokens: 65_536 });
});

test('a newer model gets the sampling fields that a flag or the settings ask for', () => {
  expect(createGenerationConfig('gemini-3.8-flash', { temperature: 0 })).toEqual({
    temperature: 0,
    maxOutputTokens: 65_536,
  });
  expect(createGenerationConfig('gemini-3.8-flash', {}, { topK: 5 })).toEqual({ topK: 5, maxOutputTokens: 65_536 });
});

test('sampling flags are ignored by models that answer in text and read none', () => {
  const flags = { temperature: 0, topP: 1, topK: 0 };
  const ignoring = MODELS.filter(({ id }) => findIgnoredSampling(id, flags).length > 0).map(({ id }) => id);
  expect(ignoring).toEqual([
    'gemini-3.5-flash',
    'gemini-3.5-flash-lite',
    'gemini-3.6-flash',
    'gemini-3.7-flash',
    'gemini-3.8-flash',
    'gemini-4-hydrogen',
    'gemini-4-argon',
    'gemini-4-carbon',
  ]);
  expect(findIgnoredSampling('gemini-3.8-flash', flags)).toEqual([
    'gemini-3.8-flash ignores --temperature, --top-p, --top-k',
  ]);
  expect(findIgnoredSampling('gemini-3.8-flash', { seed: 1, maxOutputTokens: 9 })).toEqual([]);
  expect(findIgnoredSampling('gemini-9-new', flags)).toEqual([]);
});

test('what the settings have for a model stands between the defaults and the flags', () => {
  const preset = {
    temperature: 0.2,
    seed: 5,
    presencePenalty: 1,
    thinkingConfig: { thinkingBudget: 64, includeThoughts: true },
  };
  const common = { topP: 0.95, topK: 40, maxOutputTokens: 65_536, presencePenalty: 1 };
  expect(createGenerationConfig('gemini-2.5-flash', {}, preset)).toEqual({
    ...common,
    temperature: 0.2,
    seed: 5,
    thinkingConfig: { thinkingBudget: 64 },
  });
  // An explicit 0 counts.
  const zeros = { temperature: 0, topP: 0, topK: 0, seed: 0 };
  const flags = { ...zeros, thinkingBudget: 0, showThoughts: true, option: ['presencePenalty=0.5'] };
  expect(createGenerationConfig('gemini-2.5-flash', flags, preset)).toEqual({
    ...common,
    ...zeros,
    presencePenalty: 0.5,
    thinkingConfig: { thinkingBudget: 0, includeThoughts: true },
  });
});

test.each([
  [{ temperature: 2.1 }, '--temperature: 2.1 is out of range', 'It must be 0 to 2.'],
  [{ temperature: -0.1 }, '--temperature: -0.1 is out of range', 'It must be 0 to 2.'],
  [{ temperature: Number.NaN }, '--temperature: NaN is out of range', 'It must be 0 to 2.'],
  [{ topP: 1.01 }, '--top-p: 1.01 is out of range', 'It must be 0 to 1.'],
  [{ topK: -1 }, '--top-k: -1 is out of range', 'It must be a whole number, 0 or more.'],
  [{ topK: 1.5 }, '--top-k: 1.5 is out of range', 'It must be a whole number, 0 or more.'],
  [{ maxOutputTokens: 0 }, '--max-output-tokens: 0 is out of range', 'It must be a whole number, 1 or more.'],
  [{ seed: 2 ** 31 }, '--seed: 2147483648 is out of range', 'It must be a whole number, -2147483648 to 2147483647.'],
])('%j is refused', (sampling, message, hint) => {
  expect(refusal('gemini-2.5-flash', sampling)).toMatchObject({
    fault: 'usage',
    message,
    hint,
  });
});

test('texts to stop at, and any other field', () => {
  expect(
    createGenerationConfig('gemini-2.0-flash', {
      stop: ['END', '\n\n'],
      option: [
        'presencePenalty=0.5',
        'responseModalities=["TEXT"]',
        'mediaResolution=MEDIA_RESOLUTION_LOW',
        'a=b=c',
        'e=',
      ],
    }),
  ).toEqual({
    maxOutputTokens: 8192,
    stopSequences: ['END', '\n\n'],
    presencePenalty: 0.5,
    responseModalities: ['TEXT'],
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
    a: 'b=c',
    e: '',
  });
});

test.each([
  [{ stop: ['a', 'b', 'c', 'd', 'e', 'f'] }, '--stop: 6 texts are too many', 'At most 5 are possible.'],
  [{ stop: [''] }, '--stop: the text is empty', 'Example: --stop END'],
  [{ option: ['x'] }, '--option: "x" is not key=value', 'Example: --option presencePenalty=0.5'],
  [{ option: ['=x'] }, '--option: "=x" is not key=value', 'Example: --option presencePenalty=0.5'],
  [{ option: ['topP=1'] }, '--option: topP has a flag of its own', 'Use --top-p.'],
])('%j is refused with a way out', (sampling, message, hint) => {
  expect(refusal('gemini-2.5-flash', sampling)).toEqual({ fault: 'usage', message, hint });
});

test('a level and a budget together are rejected', () => {
  expect(refusal('gemini-3-flash-preview', { thinkingLevel: 'low', thinkingBudget: 1 })).toEqual({
    fault: 'usage',
    message: '--thinking-level and --thinking-budget cannot be used together',
    hint: 'Use one of them. To see which the model takes: gmn models',
  });
});

test('a level the model does not have is refused with those it has', () => {
  expect(refusal('gemini-3-pro-preview', { thinkingLevel: 'medium' })).toEqual({
    fault: 'usage',
    message: 'gemini-3-pro-preview has no thinking level "medium"',
    hint: 'Its levels: low, high',
  });
  expect(refusal('gemini-2.5-flash-lite', { thinkingLevel: 'low' })).toEqual({
    fault: 'usage',
    message: 'gemini-2.5-flash-lite has no thinking levels',
    hint: 'Give it a budget instead: --thinking-budget 0, or 512 to 24576',
  });
  expect(refusal('gemini-2.0-flash', { thinkingLevel: 'low' })).toMatchObject({ fault: 'usage' });
});

test('every model takes exactly the levels of its row, sent in capitals', () => {
  for (const { id, levels, budget, thinks } of MODELS) {
    for (const level of LEVELS) {
      const isTaken = levels?.includes(level) ?? (thinks && budget === undefined);
      const config = refusal(id, { thinkingLevel: level });
      if (isTaken) expect(config, id).toMatchObject({ thinkingConfig: { thinkingLevel: level.toUpperCase() } });
      else expect(config, id).toMatchObject({ fault: 'usage' });
    }
  }
});

test('a budget is taken exactly inside its range, -1 always, 0 where thinking can be turned off', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...MODELS.filter(({ thinks }) => thinks)),
      fc.integer({ min: -3, max: 40_000 }),
      ({ id, budget, outputLimit = 65_536 }, tokens) => {
        const { min, max, canBeOff } = budget ?? { min: 0, max: outputLimit, canBeOff: undefined };
        const isTaken = tokens === -1 || (tokens === 0 && canBeOff) || (tokens >= min && tokens <= max);
        const config = refusal(id, { thinkingBudget: tokens });
        if (isTaken) expect(config).toMatchObject({ thinkingConfig: { thinkingBudget: tokens } });
        else expect(config).toMatchObject({ fault: 'usage' });
      },
    ),
  );
  expect(refusal('gemini-2.5-pro', { thinkingBudget: 0 })).toEqual({
    fault: 'usage',
    message: '--thinking-budget: 0 is not possible with gemini-2.5-pro',
    hint: 'Possible: 128 to 32768, or -1 to leave it to the model',
  });
  expect(refusal('gemini-2.0-flash', { thinkingBudget: 1 })).toMatchObject({
    message: 'gemini-2.0-flash does not think',
  });
});

test('thoughts are asked for only of models that have some', () => {
  expect(createGenerationConfig('gemini-2.5-pro', { showThoughts: true, thinkingBudget: 200 })).toMatchObject({
    thinkingConfig: { includeThoughts: true, thinkingBudget: 200 },
  });
  expect(createGenerationConfig('gemini-2.0-flash', { showThoughts: true })).not.toHaveProperty('thinkingConfig');
});

test('of a model gmn does not know, any level and budget pass', () => {
  for (const model of ['gemini-9-new', 'tunedModels/mine']) {
    expect(createGenerationConfig(model, { thinkingLevel: 'minimal' })).toMatchObject({
      thinkingConfig: { thinkingLevel: 'MINIMAL' },
    });
    expect(createGenerationConfig(model, { thinkingBudget: 60_000 })).toMatchObject({
      thinkingConfig: { thinkingBudget: 60_000 },
    });
  }
});

test.each([
  ['gemini-2.5-pro', {}, {}, { includeThoughts: true }],
  ['gemini-3.8-flash', { thinkingLevel: 'low' }, {}, { thinkingLevel: 'LOW', includeThoughts: true }],
  ['gemini-3.5-flash-lite', { thinkingLevel: 'minimal' }, {}, { thinkingLevel: 'MINIMAL' }],
  ['gemini-2.5-flash', { thinkingBudget: 0 }, {}, { thinkingBudget: 0 }],
  ['gemini-2.5-flash', {}, { thinkingConfig: { thinkingBudget: 0 } }, { thinkingBudget: 0 }],
  ['gemini-2.5-flash-lite', {}, {}, undefined],
  ['gemini-2.5-flash-lite', { thinkingBudget: 512 }, {}, { thinkingBudget: 512, includeThoughts: true }],
  ['gemini-2.0-flash', {}, {}, undefined],
  ['gemini-3.1-flash-image', {}, {}, undefined],
  ['tunedModels/mine', {}, {}, undefined],
] as const)('thoughts of %s are followed only if it thinks: %o %o', (model, flags, preset, thinkingConfig) => {
  const config = createGenerationConfig(model, { ...flags, followThoughts: true }, preset);
  expect(config.thinkingConfig).toEqual(thinkingConfig);
});

test.for<readonly [model: string, level: ThinkingLevel, thinkingConfig: object, change: string | undefined]>([
  ['gemini-4-hydrogen', 'xhigh', { thinkingLevel: 'XHIGH' }, undefined],
  ['gemini-4-argon', 'xhigh', { thinkingLevel: 'HIGH' }, 'has no thinking level xhigh: it gets high'],
  ['gemini-4-argon', 'minimal', { thinkingLevel: 'LOW' }, 'has no thinking level minimal: it gets low'],
  ['gemini-4-argon', 'high', { thinkingLevel: 'HIGH' }, undefined],
  ['gemini-4-neon', 'xhigh', { thinkingLevel: 'XHIGH' }, undefined],
  ['gemini-2.5-flash', 'high', { thinkingBudget: 24_576 }, undefined],
  [
    'gemini-2.5-flash',
    'xhigh',
    { thinkingBudget: 24_576 },
    'has no thinking level xhigh: it gets 24,576 tokens to think',
  ],
  ['gemini-2.5-pro', 'xhigh', { thinkingBudget: 32_768 }, undefined],
  // Nothing is known about them, and few models have the level.
  ['gemini-pro-latest', 'xhigh', { thinkingLevel: 'HIGH' }, 'has no thinking level xhigh: it gets high'],
  ['my-own-model', 'xhigh', { thinkingLevel: 'HIGH' }, 'has no thinking level xhigh: it gets high'],
  ['my-own-model', 'medium', { thinkingLevel: 'MEDIUM' }, undefined],
])(
  'in the words of another program %s gets for %s what is nearest, and a notice tells',
  ([model, level, config, change]) => {
    const sampling: Sampling = { thinkingLevel: level, thinkingMatch: 'nearest' };
    expect(createGenerationConfig(model, sampling)).toMatchObject({ thinkingConfig: config });
    expect(findThinkingChange(model, sampling)).toEqual(change === undefined ? [] : [`${model} ${change}`]);
  },
);

test('a level of gmn itself is sent as it is, or refused', () => {
  const xhigh: Sampling = { thinkingLevel: 'xhigh' };
  expect(createGenerationConfig('gemini-4-hydrogen', xhigh)).toMatchObject({
    thinkingConfig: { thinkingLevel: 'XHIGH' },
  });
  expect(createGenerationConfig('my-own-model', xhigh)).toMatchObject({ thinkingConfig: { thinkingLevel: 'XHIGH' } });
  expect(refusal('gemini-4-argon', xhigh)).toMatchObject({ hint: 'Its levels: low, medium, high' });
  expect(findThinkingChange('gemini-4-argon', xhigh)).toEqual([]);
});

test.for(['gemini-4-neon', 'gemini-5-new', 'gemini-4-argon-cyber-permissive'])(
  '%s, which is not in the table, is treated as its family',
  (model) => {
    expect(refusal(model, { thinkingLevel: 'minimal' })).toMatchObject({
      message: `${model} has no thinking level "minimal"`,
      hint: 'Its levels: low, medium, high, xhigh',
    });
    expect(createGenerationConfig(model, {})).toEqual({ maxOutputTokens: 65_536 });
    expect(findIgnoredSampling(model, { topK: 1 })).toEqual([`${model} ignores --top-k`]);
  },
);

test('models of a family for media, and of families gmn does not know, are left to the service', () => {
  for (const model of ['gemini-4-flash-image', 'gemini-4-tts', 'gemini-5-nano-banana', 'gemini-6-new']) {
    expect(findIgnoredSampling(model, { topK: 1 }), model).toEqual([]);
  }
});

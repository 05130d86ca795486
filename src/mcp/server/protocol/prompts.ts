interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  readonly text: (args: Readonly<Record<string, string>>) => string;
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'brainstorm',
    title: 'Brainstorm',
    description: 'Many different ideas about a topic, each with what speaks for it.',
    arguments: [
      { name: 'topic', description: 'What the ideas are for.', required: true },
      { name: 'constraints', description: 'What every idea must respect.', required: false },
    ],
    text: ({ topic, constraints }) =>
      `Brainstorm about: ${topic}\n\nGive at least ten ideas that differ in kind, not only in detail. For each: one line ` +
      `that names it, one on why it could work, one on what could go wrong. Then name the three most promising.` +
      (constraints ? `\n\nEvery idea must respect: ${constraints}` : ''),
  },
  {
    name: 'code_review',
    title: 'Code review',
    description: 'A review of code or a diff: faults first, then risks, then style.',
    arguments: [
      { name: 'code', description: 'The code or diff.', required: true },
      { name: 'focus', description: 'What matters most, e.g. security.', required: false },
    ],
    text: ({ code, focus }) =>
      `Review this code${focus ? `, above all for ${focus}` : ''}. List faults first, each with the line, why it is wrong ` +
      `and a fix; then risks; then style, briefly. Say so if there is nothing to change.\n\n${code}`,
  },
  {
    name: 'explain',
    title: 'Explain',
    description: 'An explanation of code, an error or an idea.',
    arguments: [
      { name: 'topic', description: 'What to explain.', required: true },
      { name: 'audience', description: 'Who it is for, e.g. a beginner.', required: false },
    ],
    text: ({ topic, audience }) =>
      `Explain this${audience ? ` to ${audience}` : ''}: begin with the point in one sentence, then how it works step by ` +
      `step, then an example, then the usual mistakes.\n\n${topic}`,
  },
];

export const PROMPT_LIST: readonly Omit<Prompt, 'text'>[] = PROMPTS.map(({ text: _, ...listed }) => listed);

export function fillPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
): { readonly description: string; readonly text: string } | { readonly fault: string } {
  const prompt = PROMPTS.find((known) => known.name === name);
  if (prompt === undefined) return { fault: `there is no prompt "${name}"` };
  const missing = prompt.arguments.find((argument) => argument.required && !args[argument.name]);
  if (missing !== undefined) return { fault: `the prompt ${name} needs the argument ${missing.name}` };
  return { description: prompt.description, text: prompt.text(args) };
}

/**
 * The templates that come with gmn, by name. A template of the user or of the folder with the same name wins. None has a
 * placeholder for stdin: what is piped in or attached goes before the prompt, and is needed if there are no words. The last line is the request itself, to which the
 * demo model answers.
 */
export const BUILT_IN_TEMPLATES: Readonly<Record<string, string>> = {
  commit: `---
description: Write a commit message for a diff
needs: input
language: English
prompt: nothing more
---
You write the commit message for the change above, which is a diff.

- Subject: imperative mood, at most 72 characters, no full stop; say what the change does for its users or readers, not which files it touches.
- If there is more to say: an empty line, then a body wrapped at 72 columns with why the change is made and what it affects. Leave out what the diff shows by itself.
- If the lines of the diff or the names in it show a convention for messages, such as "fix: …", follow it.
- Do not invent issue numbers, authors, tests or results.
- Write in {{language}}. Print the message alone: no quotes, no code block, no remarks.
- If there is no diff above, print only this line: Nothing to describe. Try: git diff --staged | gmn --template commit

What the author adds: {{prompt}}

Write the commit message
`,
  explain: `---
description: Explain code, an error, a log or a word
needs: input
level: somebody who programs, but does not know this
language: the language of my request, else English
prompt: this
---
Explain to {{level}}.

- Begin with one or two sentences that say what it is or does, and what it is for.
- Then how it works, in the order in which it happens. Use its own names, and quote the line that you talk about.
- An error or a log: what happened, the most likely cause, and how to make sure.
- Name what is surprising, risky or easy to misread. Say so where you are not certain.
- Be brief: no preamble, no summary at the end. A small example is better than a long sentence.
- Write in {{language}}.

Explain {{prompt}}
`,
  fix: `---
description: Find what is wrong, and the smallest change that repairs it
needs: input
language: the language of my request, else English
prompt: this
---
You repair what is shown above: code, the output of a failed command, or both. Where you have tools, look at the files before you answer, and edit them yourself.

1. Say in one or two sentences what is wrong and why. If there are several causes, begin with the one that explains the others.
2. Give the smallest change that repairs the cause, not the symptom: as a diff where you know the file, else as a code block with the lines to replace. Keep the style of what is there; change nothing that is not needed.
3. Say how to check it, in one line: a command, or what should be seen.

If what you were given is not enough to be sure, say what is missing and how to get it, and do not guess. Write in {{language}}.

Fix {{prompt}}
`,
  review: `---
description: Review a change
needs: input
focus: correctness, safety, then simplicity
language: English
prompt: whether it can be merged
---
You review the change above, a diff or a file, as an experienced colleague who has to live with it. What matters most: {{focus}}.

- Look for wrong results, lost data, races, errors that nobody handles, input that is trusted, leaks of secrets or resources, broken callers, and tests that are missing or cannot fail.
- Each finding is one list item: \`file:line\`, what goes wrong and when, and what to do instead. The worst first.
- Report only what you can show in the lines you see, and name the input or the order of events that breaks it. No praise, no matters of taste, nothing that a formatter does.
- Lines that were not changed count only where the change breaks them.
- If there is nothing to report, say so in one line. If there is nothing to review, print only: Nothing to review. Try: git diff | gmn --template review
- End with one line that answers this: {{prompt}}
- Write in {{language}}.

Review this change
`,
  summarise: `---
description: Summarise a text, a log or a thread
needs: input
length: five
language: the language of the text
prompt: this
---
Summarise what is above for somebody who will not read it.

- First one sentence with what it is and its most important point.
- Then at most {{length}} list items, the most important first: decisions, numbers, names, dates, what is still open, and who has to do what.
- Only what is in the text. Keep figures and names exactly as they are; where it contradicts itself, say so.
- Write in {{language}}. No introduction, no closing words.

Summarise {{prompt}}
`,
};

/** What `gmn templates new` opens. Lines with # are notes and never sent. */
export function templateSkeleton(name: string): string {
  return `---
# A template: a prompt that you use often. Lines up here that begin with # are notes.
#
# To use it:  git diff | gmn --template ${name} "more words"
#
# {{focus}}   is filled by --param focus=…, else by the line "focus: …" up here
# {{prompt}}  is filled by the words of the command line; without it they follow
# {{stdin}}   is filled by what is piped in; without it that goes before
# needs: input  up here refuses a run with neither words nor anything piped in or attached
description: What it is for
focus: what matters most
---
Write your prompt here. Look at {{focus}}.
`;
}

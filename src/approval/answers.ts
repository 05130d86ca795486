import { formatCommandWords } from '../core/permission.ts';
import { sanitize } from '../core/text/terminal.ts';
import type { Offer, Reach, Scope } from './grants.ts';
import type { Answer, Question } from './keys.ts';

/** An answer for those who choose from a list in place of keys. */
export interface NamedAnswer {
  readonly id: string;
  readonly name: string;
  readonly answer: Answer;
}

/** Yes, what may be allowed beyond this call, no. */
export function listAnswers({ offer, hasFile, canKeep = false }: Question): readonly NamedAnswer[] {
  return [
    { id: 'once', name: 'Allow', answer: { kind: 'yes' } },
    ...(offer === undefined ? [] : listGrants(offer, hasFile, canKeep)),
    { id: 'no', name: 'Reject', answer: { kind: 'no' } },
  ];
}

const SCOPE_NAMES: Readonly<Record<Exclude<Scope, 'once'>, string>> = {
  edits: 'Allow all edits in this session',
  tool: 'Always allow this tool in this session',
  command: 'Always allow this exact command in this session',
  call: 'Always allow reading this file in this session',
};

function listGrants({ scope, words, server }: Offer, hasFile: boolean, canKeep: boolean): readonly NamedAnswer[] {
  if (scope === 'once') return [];
  const beginning = words === undefined ? '' : formatCommandWords(words);
  return [
    toNamedGrant('always', SCOPE_NAMES[scope], 'scope'),
    ...(words === undefined ? [] : [toNamedGrant('prefix', `Always allow ${beginning} … in this session`, 'prefix')]),
    ...(server === undefined
      ? []
      : [toNamedGrant('server', `Always allow all tools of ${sanitize(server)}`, 'server')]),
    ...(hasFile && scope === 'edits' ? [toNamedGrant('file', 'Always allow changes of this file', 'file')] : []),
    ...(canKeep && scope !== 'call' ? [toKeptGrant(scope, beginning)] : []),
  ];
}

/** Kept for the project: the words of a command if there are any, else what `always` allows. */
function toKeptGrant(scope: Scope, beginning: string): NamedAnswer {
  if (beginning !== '') return toNamedGrant('project', `Always allow ${beginning} … in this project`, 'prefix', true);
  const what = scope === 'edits' ? 'all edits' : scope === 'command' ? 'this exact command' : 'this tool';
  return toNamedGrant('project', `Always allow ${what} in this project`, 'scope', true);
}

function toNamedGrant(id: string, name: string, reach: Reach, isKept = false): NamedAnswer {
  return { id, name, answer: { kind: 'grant', reach, isKept } };
}

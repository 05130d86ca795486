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
  hosts: 'Always allow this host in this session',
  command: 'Always allow this exact command in this session',
  call: 'Always allow reading this file in this session',
};

/**
 * Hosts that know one answer of a kind take the first or the last: both hold for the session only, and what is kept for the
 * project is offered where it can stand between them.
 */
function listGrants({ scope, words, server }: Offer, hasFile: boolean, canKeep: boolean): readonly NamedAnswer[] {
  if (scope === 'once') return [];
  const beginning = words === undefined ? '' : formatCommandWords(words);
  const first = toNamedGrant('always', SCOPE_NAMES[scope], 'scope');
  const others: NamedAnswer[] = [];
  if (words !== undefined) others.push(toNamedGrant('prefix', `Always allow ${beginning} … in this session`, 'prefix'));
  if (server !== undefined)
    others.push(toNamedGrant('server', `Always allow all tools of ${sanitize(server)}`, 'server'));
  if (hasFile && scope === 'edits') others.push(toNamedGrant('file', 'Always allow changes of this file', 'file'));
  if (others.length === 0 || !canKeep) return [first, ...others];
  return [first, toKeptGrant(scope, beginning), ...others];
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

import { AppError } from '../core/error.ts';
import { tryParseDuration } from '../core/text/format.ts';

type ValueKind = 'none' | 'count' | 'duration' | 'url' | 'prefix';

const FAULTS = {
  '401': { value: 'none', about: 'the credential is refused' },
  '403': { value: 'none', about: 'permission is denied' },
  '404-retired': { value: 'prefix', about: 'gemini-2.5-* (or =<prefix>) is gone, other models answer' },
  '429': { value: 'none', about: 'per-minute quota; add ,retry-after=<seconds> to name the wait' },
  '429-daily': { value: 'none', about: 'daily quota used up' },
  '500': { value: 'none', about: 'internal error' },
  '503': { value: 'none', about: 'overloaded; takes ,retry-after=<seconds> too' },
  rpm: { value: 'count', about: '=<n>: a quota of n requests a minute for each model' },
  tpm: { value: 'count', about: '=<n>: a quota of n input tokens a minute for each model' },
  daily: { value: 'count', about: '=<n>: a quota of n requests a day for each model' },
  '503-burst': { value: 'count', about: '=<n>: after every 100 requests the next n are refused as overloaded' },
  UNSUPPORTED_CLIENT: { value: 'none', about: 'the account may no longer use this sign-in' },
  TOS_VIOLATION: { value: 'none', about: 'the account is suspended' },
  VALIDATION_REQUIRED: { value: 'none', about: 'the account must be verified' },
  redirect: { value: 'url', about: '=<url>: every request is redirected (307)' },
  hang: { value: 'none', about: 'the request is accepted, but no answer ever comes' },
  'hang-after': { value: 'count', about: '=<n>: silence after n chunks' },
  slow: { value: 'duration', about: '=<duration>: a wait before every chunk' },
  'cut-after': { value: 'count', about: '=<n>: the connection drops inside the event after n chunks' },
  checkpoint: { value: 'count', about: '=<n>: every n-th chunk has a token to resume the answer with' },
  continuation: { value: 'count', about: '=<n>: after n chunks the rest must be asked for with a token' },
  garbage: { value: 'none', about: 'one event is not JSON' },
  'no-finish': { value: 'none', about: 'the stream ends without a finish reason' },
  empty: { value: 'none', about: 'an answer without text' },
  safety: { value: 'none', about: 'the answer is stopped for safety' },
  blocked: { value: 'none', about: 'the prompt is blocked' },
  'max-tokens': { value: 'none', about: 'the answer stops after its first chunk' },
  window: { value: 'count', about: '=<tokens>: the window of every model, instead of its own' },
  'malformed-call': { value: 'none', about: 'the model made a call that cannot be read' },
  'image-safety': { value: 'none', about: 'the picture is filtered out' },
  'no-image': { value: 'none', about: 'the model makes no picture' },
  'tier-downgrade': { value: 'none', about: 'the standard tier answers, whichever was asked for' },
  'batch-polls': { value: 'count', about: '=<n>: a batch is complete when it is looked at for the n-th time (2)' },
  'batch-time': { value: 'duration', about: '=<duration>: a batch takes that long, however often it is looked at' },
  'batch-lag': { value: 'duration', about: '=<duration>: the list of batches shows a new one that much later' },
  'batch-lost': { value: 'none', about: 'a batch is created, but the connection drops before the answer' },
  'batch-full': { value: 'none', about: 'creating a batch is refused (429): too many tokens are enqueued' },
  'batch-failed': { value: 'none', about: 'a batch fails as a whole' },
  'batch-expired': { value: 'none', about: 'a batch expires without results' },
  'batch-row-errors': { value: 'count', about: '=<n>: every n-th row of a batch has an error' },
  'batch-row-missing': { value: 'count', about: '=<n>: every n-th row of a batch has no result at all' },
  'batch-reversed': { value: 'none', about: 'the results of a batch are in another order than its requests' },
  'batch-job-state': { value: 'none', about: 'states are spelled JOB_STATE_… and not BATCH_STATE_…' },
  'batch-flat': { value: 'none', about: 'inlined responses are nested one level less' },
  'batch-metadata': { value: 'none', about: 'results are named in metadata.output only, and not in the response' },
  'batch-response': { value: 'none', about: 'results are named in the response only, and not in metadata.output' },
  'decision-missing': { value: 'none', about: 'the last question of a decision has no answer' },
  'decision-type': { value: 'none', about: 'the answers of a decision are of a type that was not asked for' },
  'research-time': { value: 'duration', about: '=<duration>: research takes that long (3s)' },
  'research-lost': { value: 'none', about: 'research begins, but the connection drops before the answer' },
  'research-failed': { value: 'none', about: 'research fails' },
  'research-incomplete': { value: 'none', about: 'research ends before it is complete, with half a report' },
  'research-budget': { value: 'none', about: 'research uses up its budget' },
  'research-action': { value: 'none', about: 'the agent waits for an action of the client' },
  'research-empty': { value: 'none', about: 'research is completed, without a report' },
  'research-cut': { value: 'count', about: '=<n>: the stream of research drops after n events' },
  'research-gone': { value: 'none', about: 'the service has no research of that id' },
  'new-user': { value: 'none', about: 'Code Assist wants the account onboarded first' },
  'token-400': { value: 'none', about: 'the refresh token is refused (invalid_grant)' },
  'token-500': { value: 'none', about: 'the token endpoint fails' },
  'token-html': { value: 'none', about: 'the token endpoint answers with a web page' },
  'token-empty': { value: 'none', about: 'the token endpoint answers with nothing' },
  'upload-ids': { value: 'none', about: 'an upload may not choose its own file id' },
  'upload-cut': { value: 'count', about: '=<n>: the connection drops n bytes into a chunk of an upload' },
  'upload-forgotten': { value: 'none', about: 'the address of an upload is not known any more' },
  'upload-size': { value: 'count', about: '=<n>: the server says that n bytes of an upload have arrived so far' },
  'upload-503': {
    value: 'prefix',
    about: 'overloaded at start, upload, query, get, list or delete (or only at =<step>)',
  },
  'file-size': { value: 'count', about: '=<n>: the server says that a finished upload has n bytes' },
  'file-processing': { value: 'count', about: '=<n>: a file is PROCESSING for its first n looks' },
  'file-failed': { value: 'none', about: 'a file cannot be processed' },
  rotate: { value: 'none', about: 'a refresh also replaces the refresh token; the old one is refused from then on' },
} as const satisfies Record<string, { readonly value: ValueKind; readonly about: string }>;

export type FaultName = keyof typeof FAULTS;

export interface DemoFault {
  readonly name: FaultName;
  /** How many requests it affects; Infinity unless limited with `x<n>`. */
  readonly times: number;
  /** Milliseconds for a duration, a number for a count. */
  readonly amount?: number;
  readonly text?: string;
  readonly retryAfterSeconds?: number;
}

export function formatFaults(): string {
  return Object.entries(FAULTS)
    .map(([name, { about }]) => `  ${name.padEnd(20)} ${about}`)
    .join('\n');
}

/** Separated by commas, each optionally limited to its first n requests: `503x1`, `slow=5sx2`. Throws AppError `usage`. */
export function parseFaults(specs: readonly string[]): readonly DemoFault[] {
  const faults: DemoFault[] = [];
  for (const item of specs.flatMap((spec) => spec.split(','))) {
    const piece = item.trim();
    if (piece.startsWith('retry-after=')) {
      faults.push(withRetryAfter(faults.pop(), piece.slice('retry-after='.length)));
    } else {
      faults.push(parseFault(piece));
    }
  }
  return faults;
}

function parseFault(piece: string): DemoFault {
  const equals = piece.indexOf('=');
  const head = equals < 0 ? piece : piece.slice(0, equals);
  const onName = splitLimit(head);
  const name = isFaultName(head) ? head : onName.rest;
  if (!isFaultName(name)) {
    throw new AppError('usage', `unknown fault "${piece}"`, { hint: `These are known:\n${formatFaults()}` });
  }
  const kind: ValueKind = FAULTS[name].value;
  const raw = equals < 0 ? undefined : piece.slice(equals + 1);
  // A limit may also follow a number, where it cannot be mistaken for a part of the value.
  const onValue = kind === 'count' || kind === 'duration' ? splitLimit(raw ?? '') : { rest: raw, times: undefined };
  const times = (name === head ? undefined : onName.times) ?? onValue.times ?? Number.POSITIVE_INFINITY;
  return { name, times, ...parseFaultValue({ kind, value: onValue.rest, piece }) };
}

function parseFaultValue(given: {
  readonly kind: ValueKind;
  readonly value: string | undefined;
  readonly piece: string;
}): Pick<DemoFault, 'amount' | 'text'> {
  const { kind, value } = given;
  if (kind === 'none' && value === undefined) return {};
  if (kind === 'prefix') return value === undefined ? {} : { text: value };
  if (kind === 'url' && value !== undefined && URL.canParse(value)) return { text: value };
  if (kind === 'count' && value !== undefined && /^\d{1,9}$/.test(value)) return { amount: Number(value) };
  const amount = kind === 'duration' && value !== undefined ? tryParseDuration(value) : undefined;
  if (amount !== undefined) return { amount };
  const wanted = {
    none: 'no value',
    count: 'a number',
    duration: 'a duration such as 5s',
    url: 'an address',
    prefix: '',
  };
  throw new AppError('usage', `fault "${given.piece}" takes ${wanted[kind]}`, { hint: `For example:\n${EXAMPLES}` });
}

const EXAMPLES = '  --fault 429,retry-after=1\n  --fault 503x1\n  --fault slow=5s\n  --fault cut-after=2';

function withRetryAfter(fault: DemoFault | undefined, value: string): DemoFault {
  const { rest, times } = splitLimit(value);
  const takesIt = fault !== undefined && ['429', '429-daily', '503'].includes(fault.name);
  if (!takesIt || !/^\d{1,9}(\.\d{1,3})?$/.test(rest)) {
    throw new AppError('usage', `fault "retry-after=${value}" does not fit`, {
      hint: 'It follows 429, 429-daily or 503 and names seconds: --fault 429,retry-after=1',
    });
  }
  return { ...fault, times: times ?? fault.times, retryAfterSeconds: Number(rest) };
}

function splitLimit(text: string): { readonly rest: string; readonly times: number | undefined } {
  const match = /^(.*?)x(\d{1,9})$/.exec(text);
  return match === null ? { rest: text, times: undefined } : { rest: match[1] ?? '', times: Number(match[2]) };
}

function isFaultName(text: string): text is FaultName {
  return Object.hasOwn(FAULTS, text);
}

export function findAmount(faults: readonly DemoFault[], name: FaultName): number | undefined {
  return faults.find((fault) => fault.name === name)?.amount;
}

export type FaultBook = ReturnType<typeof createFaultBook>;

export function createFaultBook(faults: readonly DemoFault[]) {
  const left = faults.map((fault) => fault.times);
  return {
    take(names: readonly FaultName[], fits: (fault: DemoFault) => boolean = () => true): DemoFault | undefined {
      const index = faults.findIndex((fault, at) => (left[at] ?? 0) > 0 && names.includes(fault.name) && fits(fault));
      const fault = faults[index];
      if (fault !== undefined) left[index] = (left[index] ?? 0) - 1;
      return fault;
    },
  };
}

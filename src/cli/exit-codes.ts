import { AppError, EXIT_CODES, type Fault } from '../core/error.ts';
import { columns } from './help.ts';

/** A fault that is missing here does not compile. */
const WHEN: Readonly<Record<Fault, string>> = {
  pipe: 'the reader closed the output (| head)',
  internal: 'a bug in gmn, or the output could not be written',
  usage: 'a wrong flag, no prompt, a file that is missing',
  limit: "one of gmn's own limits, such as --max-turns",
  auth: 'no credential, or it was refused',
  api: 'HTTP, network, quota, timeout, blocked, cut short',
  config: 'a settings file or a variable that cannot be used',
  mcp: 'an MCP server failed',
  hangup: 'SIGHUP: the terminal went away',
  interrupted: 'SIGINT: Ctrl+C',
  terminated: 'SIGTERM',
};

const FAULTS = Object.keys(EXIT_CODES).filter((key): key is Fault => Object.hasOwn(WHEN, key));

/** What each exit code means, and the `error.type` that goes with it. */
export function exitCodePage(): string {
  const padded = exitCodeRows().map(
    ([code, when]) => [code.replace(/^\d+/, (digits) => digits.padStart(3)), when] as const,
  );
  return `${columns([['  0', 'the model answered'], ...padded])}
In the JSON formats error.code is the same number and error.type the name.

From the official CLI: its 41 is 2 here, 42 is 1, 52 is 4, 53 is 1, 54 is 1; an
API error, there the HTTP status modulo 256, is always 3.

  gmn "hello" -o json | jq -r '.response // error(.error.message)'
  gmn "hello" || case $? in 2) gmn auth status ;; 3) echo "try later" ;; esac
`;
}

/** Every exit code but 0 with its `error.type`, and when it is given. */
export function exitCodeRows(): readonly (readonly [code: string, when: string])[] {
  return FAULTS.map((fault) => {
    const { exitCode, type } = new AppError(fault, '');
    return [`${exitCode}  ${type}`, WHEN[fault]];
  });
}

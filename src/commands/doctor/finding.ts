import { AppError, FAULTS, type Fault } from '../../core/error.ts';
import type { Env } from '../../core/io.ts';
import type { JsonObject } from '../../core/json.ts';
import { sanitize } from '../../core/text/terminal.ts';

export interface Remedy {
  readonly words: string;
  readonly command?: string;
}

/** `absent`: not there, which is not a fault. */
export interface Finding {
  /** Stable, for programs. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failure' | 'absent';
  readonly text: string;
  readonly remedies?: readonly Remedy[];
  readonly fault?: Fault;
}

export function okFinding(check: string, text: string): Finding {
  return { check, state: 'ok', text };
}

export function absentFinding(check: string, text: string): Finding {
  return { check, state: 'absent', text };
}

export function warningFinding(check: string, text: string, ...remedies: readonly Remedy[]): Finding {
  return { check, state: 'warning', text, remedies };
}

export function failureFinding(check: string, fault: Fault, text: string, ...remedies: readonly Remedy[]): Finding {
  return { check, state: 'failure', fault, text, remedies };
}

export function toFailedFinding(check: string, { fault, message, hint }: AppError): Finding {
  return { check, state: 'failure', text: message, fault, remedies: hint ? [{ words: hint }] : undefined };
}

export async function runCheck(
  check: string,
  find: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  try {
    return await find();
  } catch (thrown) {
    if (thrown instanceof AppError) return [toFailedFinding(check, thrown)];
    throw thrown;
  }
}

/** In the order in which they would stop a run. */
const SEVERITY: readonly Fault[] = ['config', 'auth', 'api', 'mcp'];

export function toExitCode(findings: readonly Finding[]): number {
  const faults = findings.flatMap(({ state, fault = 'internal' }) => (state === 'failure' ? [fault] : []));
  const worst = SEVERITY.find((fault) => faults.includes(fault)) ?? faults[0];
  return worst === undefined ? 0 : FAULTS[worst].exitCode;
}

type Marks = Readonly<Record<Finding['state'] | 'arrow', string>>;

const SIGNS: Marks = { ok: '✓', warning: '⚠', failure: '✗', absent: '–', arrow: '→' };
const WORDS: Marks = { ok: 'ok  ', warning: 'warn', failure: 'FAIL', absent: '-   ', arrow: '->' };

/** Always true on systems without these variables. */
export function isUtf8Locale({ LC_ALL, LC_CTYPE, LANG }: Env, platform: string): boolean {
  if (platform === 'win32' || platform === 'darwin') return true;
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}

export function formatFindings(findings: readonly Finding[], { isPlain }: { readonly isPlain: boolean }): string {
  const marks = isPlain ? WORDS : SIGNS;
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(marks.ok.length + width + 3);
  const lines = findings.flatMap(({ check, state, text, remedies = [] }) => [
    `${marks[state]} ${check.padEnd(width)}  ${sanitize(text)}`,
    ...remedies.map((remedy) => `${indent}${marks.arrow} ${sanitize(formatRemedy(remedy))}`),
  ]);
  return `${lines.join('\n')}\n\n${formatSummary(findings)}\n`;
}

function formatRemedy({ words, command }: Remedy): string {
  return command === undefined ? words : `${words}: ${command}`;
}

function formatSummary(findings: readonly Finding[]): string {
  const count = (wanted: Finding['state'], word: string): readonly string[] => {
    const { length } = findings.filter(({ state }) => state === wanted);
    return length === 0 ? [] : [`${length} ${word}${length === 1 ? '' : 's'}`];
  };
  return [...count('failure', 'failure'), ...count('warning', 'warning')].join(', ') || 'Nothing is wrong.';
}

export function toFindingsJson(findings: readonly Finding[]): readonly JsonObject[] {
  return findings.map(({ check, state, text, remedies = [], fault }) => ({
    check,
    state,
    text,
    code: state === 'failure' && fault !== undefined ? FAULTS[fault].exitCode : undefined,
    remedies: remedies.map(({ words, command }) => ({ words, command })),
  }));
}

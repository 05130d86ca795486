import { isIP } from 'node:net';
import { AppError } from '../../core/error.ts';
import { sanitize } from '../../core/text/terminal.ts';

/** A name, or all names below one, and the ports there. */
export interface HostRule {
  /** In lower case, ASCII, without the dot at the end; an IPv6 address without brackets. */
  readonly name: string;
  /** `*.name`: every name below it, and not the name itself. */
  readonly isBelow: boolean;
  readonly ports: readonly number[];
}

const WEB_PORTS = [80, 443];

/** Throws AppError `usage` for what is no host. */
export function parseHostRules(entries: readonly string[]): readonly HostRule[] {
  if (entries.length === 0) throw ruleError('no host is named');
  return entries.map((entry) => {
    if (entry === '*') throw ruleError('* is every host: say all');
    const isBelow = entry.startsWith('*.');
    const target = tryParseTarget(isBelow ? entry.slice(2) : entry);
    const isAddress = target !== undefined && isIP(target.name) !== 0;
    if (target === undefined || (isBelow && isAddress)) throw ruleError(`${sanitize(entry)} is not a host`);
    return { name: target.name, isBelow, ports: target.port === undefined ? WEB_PORTS : [target.port] };
  });
}

function ruleError(what: string): AppError {
  return new AppError('usage', `--sandbox-net: ${what}`, {
    hint: 'Examples: --sandbox-net packages.example.org,*.example.com,git.example.com:8443; --sandbox-net all',
  });
}

export interface Target {
  readonly name: string;
  readonly port: number | undefined;
}

/** `host`, `host:port`, `[address]:port`. The URL parser makes one form of every way to write an address or a name. */
export function tryParseTarget(text: string): Target | undefined {
  if (!/^(?:\[[\da-f:.]+\]|[^\s:/?#@[\]\\%*]+)(?::\d{1,5})?$/i.test(text)) return undefined;
  const [, port] = /:(\d+)$/.exec(text.replace(/^\[.*\]/, '')) ?? [];
  try {
    // Not a scheme that has a default port, which would be dropped.
    const { hostname } = new URL(`http://${text.slice(0, text.length - (port === undefined ? 0 : port.length + 1))}`);
    const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const number = port === undefined ? undefined : Number(port);
    return name === '' || (number !== undefined && (number < 1 || number > 65_535))
      ? undefined
      : { name, port: number };
  } catch {
    return undefined;
  }
}

export function isAllowedHost(rules: readonly HostRule[], name: string, port: number): boolean {
  return rules.some(
    (rule) => rule.ports.includes(port) && (rule.isBelow ? name.endsWith(`.${rule.name}`) : name === rule.name),
  );
}

export function formatHostRules(rules: readonly HostRule[]): string {
  return rules
    .map(({ name, isBelow, ports }) => {
      const host = `${isBelow ? '*.' : ''}${name.includes(':') ? `[${name}]` : name}`;
      return ports === WEB_PORTS ? host : `${host}:${ports.join(',')}`;
    })
    .join(', ');
}

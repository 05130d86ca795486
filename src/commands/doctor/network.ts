import type { App } from '../../core/app.ts';
import type { Env } from '../../core/io.ts';
import { checkEndpoint } from '../../core/text/url.ts';
import { pathStatus } from '../../platform/files/path-status.ts';
import { proxyFor } from '../../platform/http/proxy-choice.ts';
import { type Finding, look } from './finding.ts';

/** Variables that send credentials somewhere else. */
const ENDPOINTS = ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT', 'GMN_OAUTH_TOKEN_URL'];

/** Where requests go, through whom, and whom they believe, as far as variables say. */
export async function networkFindings({ env }: App): Promise<readonly Finding[]> {
  const endpoints = await Promise.all(
    ENDPOINTS.filter((name) => env[name]).map((name) => look('endpoint', () => [endpointFinding(name, env)])),
  );
  const found = endpoints.flat();
  const none: Finding = { check: 'endpoint', state: 'ok', text: "Google's own" };
  return [
    ...(found.length === 0 ? [none] : found),
    ...(await look('proxy', () => [proxyFinding(env)])),
    ...certificateFindings(env),
  ];
}

function endpointFinding(name: string, env: Env): Finding {
  return { check: 'endpoint', state: 'ok', text: `${name} is ${checkEndpoint(env[name] ?? '', name).origin}` };
}

/** Without the user name and password that the variable may hold. */
function proxyFinding(env: Env): Finding {
  const proxy = proxyFor(new URL('https://generativelanguage.googleapis.com'), env);
  if (proxy === undefined) return { check: 'proxy', state: 'absent', text: 'none' };
  return { check: 'proxy', state: 'ok', text: `${proxy.protocol}//${proxy.host}` };
}

function certificateFindings(env: Env): readonly Finding[] {
  const { NODE_EXTRA_CA_CERTS: file, NODE_TLS_REJECT_UNAUTHORIZED: reject } = env;
  const found: Finding[] = [];
  if (reject === '0') {
    found.push({
      check: 'certificates',
      state: 'warning',
      text: 'NODE_TLS_REJECT_UNAUTHORIZED is 0, which gmn does not obey: certificates are always checked',
      remedies: [{ words: 'Spare yourself the notice', command: 'unset NODE_TLS_REJECT_UNAUTHORIZED' }],
    });
  }
  if (!file) return found;
  const isThere = pathStatus(file)?.kind === 'file';
  const missing: Finding = {
    check: 'certificates',
    state: 'warning',
    text: `NODE_EXTRA_CA_CERTS names ${file}, which is not there`,
    remedies: [{ words: 'Name another file, or none', command: 'unset NODE_EXTRA_CA_CERTS' }],
  };
  const used = `NODE_EXTRA_CA_CERTS is ${file}; Node reads it at every start, which takes time`;
  return [...found, isThere ? { check: 'certificates', state: 'ok', text: used } : missing];
}

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { toSlashes } from '../../src/core/text/path.ts';
import { sealedBox } from '../../src/platform/process/keyring.ts';
import { listTree } from './temporary.ts';

const PRIVATE_KEY = String(
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
);

/** One of each kind of secret that gmn may handle, in its real format. */
export const CANARIES = {
  geminiKey: 'AIzaSyCanary-gemini-api-key_0123456789',
  googleKey: 'AIzaSyCanary-google-api-key_0123456789',
  storedKey: 'AIzaSyCanary-stored-api-key_0123456789',
  typedKey: 'AIzaSyCanary-typed-api-key_01234567890',
  access: 'ya29.canary-access_token.0123456789abcdef',
  refresh: '1//0canary-refresh-token_0123456789abcdef',
  idToken: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYW5hcnkifQ.Y2FuYXJ5LXNpZ25hdHVyZQ',
  granted: 'ya29.canary-granted_token.0123456789abcdef',
  rotated: '1//0canary-rotated-token_0123456789abcdef',
  givenAccess: 'ya29.canary-given_access.0123456789abcdef',
  sealedAccess: 'ya29.canary-sealed_access.0123456789abcdef',
  /** A line from the middle: nobody prints it by chance. */
  privateKey: PRIVATE_KEY.split('\n')[10] ?? '',
  proxyPassword: 'canary-proxy~password/0123456789',
  clientId: '012345678901-canaryclient.apps.googleusercontent.com',
  clientSecret: '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789',
} as const;

export type CanaryName = keyof typeof CANARIES;

/** Where each secret may be stored (docs/auth-and-models.md), below the home directory; the others nowhere. */
const KEPT: Readonly<Partial<Record<CanaryName, RegExp>>> = {
  storedKey: /^\.gmn\/key\.json$/,
  typedKey: /^\.gmn\/key\.json$/,
  access: /^\.gemini\/oauth_creds\.json$/,
  refresh: /^\.gemini\/oauth_creds\.json$|^\.gmn\/tokens\/[0-9a-f]{16}\.json$/,
  idToken: /^\.gemini\/oauth_creds\.json$/,
  granted: /^\.gemini\/oauth_creds\.json$|^\.gmn\/tokens\/[0-9a-f]{16}\.json$/,
  rotated: /^\.gemini\/oauth_creds\.json$|^\.gmn\/tokens\/[0-9a-f]{16}\.json$/,
  privateKey: /^service\.json$/,
  clientId: /^\.gmn\/(?:oauth-client|config)\.json$|^lib\/node_modules\//,
  clientSecret: /^\.gmn\/(?:oauth-client|config)\.json$|^lib\/node_modules\//,
};

/** Plain, in a URL, in JSON, in hex, and in base64 at any alignment. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((lead) => {
    const text = Buffer.concat([Buffer.alloc(lead), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The edges also depend on the neighbouring bytes.
    return text.slice(lead === 0 ? 0 : lead + 1, -2);
  });
  return [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ x: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    bytes.toString('hex'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

const FORMS = Object.entries(CANARIES).map(([name, secret]) => ({ name, forms: [...new Set(formsOf(secret))] }));

export function canariesIn(text: string): readonly string[] {
  return FORMS.filter(({ forms }) => forms.some((form) => text.includes(form))).map(({ name }) => name);
}

/** `name in path` for every secret in a file below `root` that is not documented to be there. `home` is below `root`. */
export function strayCanaries(root: string): readonly string[] {
  const stray: string[] = [];
  for (const entry of listTree(root)) {
    const path = toSlashes(join(entry.parentPath, entry.name).slice(root.length + 1));
    // A file name can reveal a secret, too.
    const content = entry.isFile() ? readFileSync(join(root, path), 'latin1') : '';
    for (const name of canariesIn(`${path}\n${content}`)) {
      if (!isKept(name, path.replace(/^home\//, ''))) stray.push(`${name} in ${path}`);
    }
  }
  return stray;
}

function isKept(name: string, path: string): boolean {
  return Object.entries(KEPT).some(([known, places]) => known === name && places.test(path));
}

const HOUR_MS = 3_600_000;

/** `isStale`: the token must be refreshed. */
export function signIn(isStale = false): string {
  return JSON.stringify({
    access_token: CANARIES.access,
    refresh_token: CANARIES.refresh,
    id_token: CANARIES.idToken,
    token_type: 'Bearer',
    expiry_date: isStale ? 1_700_000_000_000 : Date.now() + HOUR_MS,
  });
}

/** Created once: deriving its key is slow on purpose. */
let sealedSignIn: string | undefined;

function sealSignIn(): string {
  const token = { accessToken: CANARIES.sealedAccess, refreshToken: CANARIES.refresh, expiresAt: Date.now() + HOUR_MS };
  const box = sealedBox('gemini-cli-oauth', `${hostname()}-${userInfo().username}-gemini-cli`);
  const password = JSON.stringify({ serverName: 'main-account', token });
  return box.seal(JSON.stringify({ 'gemini-cli-oauth': { 'main-account': password } }));
}

export function plantedHome(): Readonly<Record<string, string>> {
  sealedSignIn ??= sealSignIn();
  return {
    '.gemini/oauth_creds.json': signIn(),
    '.gemini/gemini-credentials.json': sealedSignIn,
    '.gmn/key.json': JSON.stringify({ version: 1, place: 'file', key: CANARIES.storedKey }),
    'service.json': JSON.stringify({
      type: 'service_account',
      project_id: 'p',
      client_email: 'robot@p.iam.gserviceaccount.com',
      private_key: PRIVATE_KEY,
    }),
  };
}

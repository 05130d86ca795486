import type { Settings } from '../core/app.ts';
import type { AUTH_TYPES, AuthType } from '../core/credential.ts';
import { AppError } from '../core/error.ts';
import type { Env } from '../core/io.ts';
import { type ChoiceInput, type CredentialChoice, createKeyChoice, type RequestedType } from './choice.ts';

const TYPES: Readonly<Record<string, AuthType>> = {
  'oauth-personal': 'oauth-personal',
  'gemini-api-key': 'gemini-api-key',
  gateway: 'gemini-api-key',
  'vertex-ai': 'vertex-ai',
  'compute-default-credentials': 'compute-default-credentials',
  'cloud-shell': 'compute-default-credentials',
} satisfies Record<(typeof AUTH_TYPES)[number], AuthType>;

/** In the order of docs/auth-and-models.md. Only a key in the environment needs no further code. */
export async function chooseCredential(input: ChoiceInput): Promise<CredentialChoice> {
  if (input.replayed !== undefined) return { ...input.replayed, notices: [] };
  const wanted = findRequestedType(input.flag, input.settings);
  if (wanted !== undefined) checkEnforced(wanted, input.settings.enforcedAuthType);
  const { GEMINI_API_KEY: key } = input.settings.env;
  if (wanted?.type === 'gemini-api-key' && (key?.trim() || wanted.isGateway)) {
    if (wanted.isGateway) checkGateway(input.env);
    return createKeyChoice({
      type: 'gemini-api-key',
      key: key ?? '',
      source: 'GEMINI_API_KEY',
      env: input.settings.env,
    });
  }
  const { chooseSource } = await import('./sources.ts');
  return chooseSource(input, wanted);
}

/** By the flag, the settings, the environment. Throws AppError `auth`, `usage` for an empty flag. */
export function findRequestedType(flag: string | undefined, settings: Settings): RequestedType | undefined {
  const { env, authType, enforcedAuthType } = settings;
  if (flag !== undefined) return parseType(flag, '--auth');
  if (env.GMN_AUTH) return parseType(env.GMN_AUTH, 'GMN_AUTH');
  if (authType) return parseType(authType, 'security.auth.selectedType');
  const inferred = inferType(env);
  // A key merely present in the environment is not a choice: the enforced type wins.
  const isAsked = inferred !== undefined && !AMBIENT_VARIABLES.includes(inferred.requestedBy);
  if (enforcedAuthType && !isAsked) return parseType(enforcedAuthType, 'security.auth.enforcedType');
  if (inferred !== undefined) return inferred;
  const { GEMINI_DEFAULT_AUTH_TYPE: byDefault } = env;
  return byDefault ? parseType(byDefault, 'GEMINI_DEFAULT_AUTH_TYPE') : undefined;
}

const AMBIENT_VARIABLES: readonly string[] = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'CLOUD_SHELL'];

function inferType(env: Env): RequestedType | undefined {
  const wants = (type: AuthType, by: string): RequestedType => ({ type, requestedBy: by, isGateway: false });
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return wants('oauth-personal', 'GOOGLE_GENAI_USE_GCA');
  for (const name of ['GOOGLE_GENAI_USE_ENTERPRISE', 'GOOGLE_GENAI_USE_VERTEXAI']) {
    if (env[name] === 'true') return wants('vertex-ai', name);
  }
  if (env.GEMINI_API_KEY?.trim()) return wants('gemini-api-key', 'GEMINI_API_KEY');
  if (env.GOOGLE_API_KEY?.trim()) return wants('vertex-ai', 'GOOGLE_API_KEY');
  for (const name of ['CLOUD_SHELL', 'GEMINI_CLI_USE_COMPUTE_ADC']) {
    if (env[name] === 'true') return wants('compute-default-credentials', name);
  }
  return undefined;
}

function parseType(name: string, by: string): RequestedType {
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type !== undefined) return { type, requestedBy: by, isGateway: name === 'gateway' };
  if (name.trim() === '') {
    throw new AppError('usage', `${by} needs a type`, { hint: `Use one of: ${Object.keys(TYPES).join(', ')}` });
  }
  throw new AppError('auth', `${by} names an unknown type: ${name}`, {
    hint: `Use one of: ${Object.keys(TYPES).join(', ')}`,
  });
}

function checkEnforced(wanted: RequestedType, enforced: string | undefined): void {
  if (!enforced) return;
  if (parseType(enforced, 'security.auth.enforcedType').type === wanted.type) return;
  throw new AppError(
    'auth',
    `the settings allow only ${enforced} (security.auth.enforcedType), but ${wanted.requestedBy} asks for ${wanted.type}`,
    { hint: `Use it: gmn --auth ${enforced} …` },
  );
}

/** The endpoint of a gateway is never guessed and never read from a file. */
function checkGateway(env: Env): void {
  if (env.GOOGLE_GEMINI_BASE_URL) return;
  throw new AppError('config', 'the auth type gateway needs GOOGLE_GEMINI_BASE_URL', {
    hint: 'Set it in the environment to the address of the gateway.',
  });
}

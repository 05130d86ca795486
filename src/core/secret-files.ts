const SECRET_NAMES: readonly RegExp[] = [
  /^\.env/,
  /\.env$/,
  /^id_/,
  /^\.(?:npmrc|netrc|pypirc|pgpass|git-credentials|vault-token|htpasswd|my\.cnf|dockercfg)$/,
  // Passwords are typed at the wrong prompt.
  /^\.\w+_history$/,
  /^credentials$/,
  /^(?:oauth_creds|gemini-credentials|application_default_credentials|gha-creds-.*)\.json$/,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx)$/,
];

/** What editors and people add to the name of a copy. */
const COPY = /(?:~|\.(?:bak|backup|old|orig|save|swp))$/;

/** Whether a file of this name is likely to hold keys or passwords: it goes to a model only when the user says so. */
export function isSecretName(name: string): boolean {
  const folded = name.toLowerCase();
  return SECRET_NAMES.some((pattern) => pattern.test(folded) || pattern.test(folded.replace(COPY, '')));
}

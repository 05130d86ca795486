const SECRET_NAMES: readonly RegExp[] = [
  /^\.env/,
  /^id_(?:[^.]+$|rsa|dsa|ecdsa|ed25519)/,
  /^\.(?:npmrc|netrc|pypirc|pgpass|git-credentials)$/,
  /^(?:oauth_creds|gemini-credentials|application_default_credentials|gha-creds-.*)\.json$/,
  /\.(?:pem|key|p12|pfx)$/,
];

/** Whether a file of this name is likely to hold keys or passwords: it goes to a model only when the user says so. */
export function isSecretName(name: string): boolean {
  const folded = name.toLowerCase();
  return SECRET_NAMES.some((pattern) => pattern.test(folded));
}

import { expect, test } from 'vitest';
import { isSecretName } from '../../src/core/secret-files.ts';

test('keys and passwords are known by their names', () => {
  const secret = [
    '.env',
    '.ENV.local',
    'id_rsa',
    'id_rsa.bak',
    'id_work',
    'x.pem',
    'x.key',
    '.npmrc',
    '.netrc',
    'oauth_creds.json',
    'gemini-credentials.json',
    'application_default_credentials.json',
    'gha-creds-0123456789abcdef.json',
    'GHA-Creds-1.JSON',
    'id_map.ts',
    '.vault-token',
    '.htpasswd',
    '.my.cnf',
    '.dockercfg',
    'credentials',
    'prod.env',
    'x.pem~',
    '.npmrc.bak',
    'store.jks',
    '.bash_history',
    '.psql_history',
  ];
  const plain = [
    'env.ts',
    'identity',
    'pem.go',
    'key.ts',
    'npmrc',
    'README.md',
    'gha-creds.md',
    'credentials.ts',
    'environment',
    'notes.bak',
    'history.ts',
  ];
  expect(secret.filter((name) => !isSecretName(name))).toEqual([]);
  expect(plain.filter(isSecretName)).toEqual([]);
});

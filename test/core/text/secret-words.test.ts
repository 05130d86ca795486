import { expect, test } from 'vitest';
import { hasSecret } from '../../../src/core/text/secrets.ts';

const TAIL = 'Ab3dEf6hIj9lMn2pQr5tUv8x';

test.each([
  'Password = "swordfish"',
  'password: hunter2secret',
  'my password is hunter2',
  'the old passphrase was correct horse battery staple',
  'MYSQL_PWD=x mysql',
  'export PGPASSWORD=hunter2',
  'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG',
  'client secret: swordfish',
  'CLIENT SECRET: swordfish',
  'api_key = "9f8e7d6c5b4a39281706"',
  "apiKey: '9f8e7d6c5b4a39281706'",
  'the token is 9f8e7d6c5b4a39281706',
  'my PIN is 4711',
  'パスワードは hunter2 です',
  'パスワード：hunter2',
  '暗証番号は 4711',
  'APIキーは「9f8e7d6c5b4a」',
  '!curl -u bob:s3cr3tpass http://x',
  '!curl -ubob:s3cr3tpass http://x',
  "!curl --user 'bob:s3cr3tpass' http://x",
  '!mysql --password hunter2',
  '!gh auth login --token abc',
  '!sshpass -p hunter2 ssh host',
  '!git clone https://me:hunter22@example.com/x',
  'AKIAIOSFODNN7EXAMPLE',
  `xoxb-12345678-${TAIL}`,
  `glpat-${TAIL}`,
  `npm_${TAIL}${TAIL}`,
  `ghp_${TAIL}`,
  `sk-${TAIL}`,
  `eyJ${TAIL}.${TAIL}.${TAIL}`,
  '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----',
])('%j tells a secret', (text) => {
  expect(hasSecret(text)).toBe(true);
  expect(hasSecret(`look:\n${text}\nwhat of it?`)).toBe(true);
});

test.each([
  'how do I reset a password?',
  'write a password generator in Rust',
  'what is a passkey, and is it better than a password?',
  'why does the token expire?',
  'the token is expired, what now',
  'what is the secret of good bread?',
  'explain the primary key: is it needed?',
  'press any key to go on',
  'count the tokens of a.txt',
  'パスワードを忘れました',
  'パスワードは8文字以上にしたい',
  '!sort -u names.txt',
  '!docker ps --format json',
  'pin the version is what I mean',
])('%j tells none', (text) => {
  expect(hasSecret(text)).toBe(false);
});

test.each(['password', 'password is ', 'key = ', 'key=aaaaaaa', ' -u a', ' --user ', 'パスワード', 'pin ', '     '])(
  'a megabyte of %j is searched without going back and forth',
  (piece) => {
    expect(hasSecret(piece.repeat(1_000_000 / piece.length))).toBeTypeOf('boolean');
  },
);

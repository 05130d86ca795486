// A certificate of the bench's own, and how Node is told to trust it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Makes a certificate for 127.0.0.1 in `directory`, with openssl; undefined if there is none. `trust` is the environment
 * that makes any Node trust it and nothing else: its switch to OpenSSL's own list of authorities. NODE_EXTRA_CA_CERTS would
 * do the same, but Node 20 reads that at every start, which doubles what everything is measured against.
 */
export function makeCertificate(directory) {
  const key = join(directory, 'key.pem');
  const certificate = join(directory, 'certificate.pem');
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'],
    ...['-keyout', key, '-out', certificate, ...names],
  ]);
  if (made.status !== 0) return undefined;
  const trust = { NODE_OPTIONS: '--use-openssl-ca', SSL_CERT_FILE: certificate, SSL_CERT_DIR: join(directory, 'none') };
  return { key, certificate, trust };
}

import type { sha256 as sha256Node } from '../../runtime/native.ts';

declare const Bun: {
  readonly CryptoHasher: { hash(algorithm: 'sha256', text: string, encoding: 'hex'): string };
};

/** The same promise, without the crypto module. */
export const sha256: typeof sha256Node = (text) => Bun.CryptoHasher.hash('sha256', text, 'hex');

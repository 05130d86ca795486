import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;

export interface SealedBox {
  /** The text inside `iv:tag:ciphertext`; `foreign` if another machine or user sealed it, `broken` if it is no such text. */
  open(sealed: string): { readonly kind: 'opened'; readonly text: string } | { readonly kind: 'foreign' | 'broken' };
  seal(text: string): string;
}

/** AES-256-GCM under a key that scrypt makes of `password` and `salt`, in the form of the official CLI's encrypted file. */
export function sealedBox(password: string, salt: string): SealedBox {
  let key: Buffer | undefined;
  const keyOf = (): Buffer => (key ??= scryptSync(password, salt, 32));
  return {
    open(sealed) {
      const [, iv, tag, content] =
        /^([0-9a-f]{24}|[0-9a-f]{32}):([0-9a-f]{32}):((?:[0-9a-f]{2})+)$/i.exec(sealed.trim()) ?? [];
      if (iv === undefined || tag === undefined || content === undefined) return { kind: 'broken' };
      const decipher = createDecipheriv(CIPHER, keyOf(), Buffer.from(iv, 'hex'), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(Buffer.from(tag, 'hex'));
      try {
        const text = Buffer.concat([decipher.update(Buffer.from(content, 'hex')), decipher.final()]).toString('utf8');
        return { kind: 'opened', text };
      } catch {
        return { kind: 'foreign' };
      }
    },
    seal(text) {
      const iv = randomBytes(12);
      const cipher = createCipheriv(CIPHER, keyOf(), iv, { authTagLength: TAG_BYTES });
      const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return [iv, cipher.getAuthTag(), content].map((bytes) => bytes.toString('hex')).join(':');
    },
  };
}

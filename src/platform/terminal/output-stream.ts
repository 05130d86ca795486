import { findFileOutput, type OutputStream } from './file-output.ts';

export function outputStream(descriptor: 1 | 2): OutputStream {
  return findFileOutput(descriptor) ?? (descriptor === 1 ? process.stdout : process.stderr);
}

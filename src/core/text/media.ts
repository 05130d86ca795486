import { extname } from 'node:path';
import { decodeText } from './decode.ts';
import { trimTrailing } from './trim.ts';

interface Signature {
  /** As Latin-1, so that one character is one byte. */
  readonly bytes: string;
  readonly at?: number;
  readonly type: string | ((head: string, extension: string) => string | undefined);
}

/** https://ai.google.dev/gemini-api/docs/image-understanding, …/audio, …/video-understanding, …/document-processing */
const SIGNATURES: readonly Signature[] = [
  { bytes: '\x89PNG\r\n\x1a\n', type: 'image/png' },
  { bytes: '\xff\xd8\xff', type: 'image/jpeg' },
  { bytes: 'GIF87a', type: 'image/gif' },
  { bytes: 'GIF89a', type: 'image/gif' },
  { bytes: 'RIFF', type: (head) => RIFF_TYPES[head.slice(8, 12)] },
  { bytes: 'FORM', type: (head) => (/^AIF[FC]$/.test(head.slice(8, 12)) ? 'audio/aiff' : undefined) },
  { bytes: 'ftyp', at: 4, type: sniffBrand },
  { bytes: 'OggS\0', type: 'audio/ogg' },
  { bytes: 'fLaC', type: 'audio/flac' },
  { bytes: 'ID3', type: (_, extension) => (extension === '.aac' ? 'audio/aac' : 'audio/mp3') },
  { bytes: '\xff', type: sniffFrame },
  { bytes: '\x1a\x45\xdf\xa3', type: sniffEbml },
  { bytes: '\0\0\x01\xba', type: 'video/mpeg' },
  { bytes: '\0\0\x01\xb3', type: 'video/mpeg' },
  { bytes: '\x30\x26\xb2\x75\x8e\x66\xcf\x11', type: 'video/wmv' },
  { bytes: 'FLV\x01', type: 'video/x-flv' },
];

const RIFF_TYPES: Readonly<Record<string, string>> = { WEBP: 'image/webp', WAVE: 'audio/wav', 'AVI ': 'video/avi' };

const HEAD_BYTES = 1024;
const PDF_TAIL_BYTES = 2048;

/** By content; undefined if the API does not take it. `name` decides what the bytes leave open. Text is no media. */
export function sniffMedia(bytes: Uint8Array, name = ''): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = buffer.toString('latin1', 0, HEAD_BYTES);
  if (isPdf(buffer, head)) return 'application/pdf';
  const extension = extname(name).toLowerCase();
  for (const { bytes: mark, at = 0, type } of SIGNATURES) {
    if (!head.startsWith(mark, at)) continue;
    const found = typeof type === 'string' ? type : type(head, extension);
    // Several signatures are plain words ("RIFF", "ID3"), but a real media file is never valid UTF-8 without NULs.
    return found !== undefined && !decodeText(bytes).isText ? found : undefined;
  }
  return undefined;
}

/** A PDF may be pure ASCII, so a text that merely begins like one must also end like one. */
function isPdf(buffer: Buffer, head: string): boolean {
  if (!/^%PDF-\d\.\d/.test(head)) return false;
  if (!decodeText(buffer).isText) return true;
  const tail = buffer.toString('latin1', Math.max(0, buffer.length - PDF_TAIL_BYTES));
  return /startxref\s+\d+\s+%%EOF$/.test(tail.trimEnd());
}

/** ISO base media (MP4 and relatives): by the major brand, for pictures also by the compatible brands. */
function sniffBrand(head: string, extension: string): string | undefined {
  const boxBytes =
    (head.charCodeAt(0) << 24) | (head.charCodeAt(1) << 16) | (head.charCodeAt(2) << 8) | head.charCodeAt(3);
  const major = head.slice(8, 12);
  const brands = head.slice(8, Math.max(12, Math.min(boxBytes, HEAD_BYTES)));
  if (/^(?:avi[fs]|crx )$/.test(major)) return undefined;
  if (/^(?:hei[cxms]|hev[cxms])$/.test(major)) return 'image/heic';
  if (/^(?:mif|msf)1$/.test(major)) {
    if (brands.includes('avif')) return undefined;
    return brands.includes('heic') ? 'image/heic' : 'image/heif';
  }
  if (major === 'qt  ') return 'video/quicktime';
  if (/^3g[p2]/.test(major)) return 'video/3gpp';
  if (/^M4[AB] $/.test(major) || extension === '.m4a' || extension === '.m4b') return 'audio/mp4';
  return 'video/mp4';
}

/** An MPEG audio frame: layer III is MP3, layer "0" is AAC (ADTS). Reserved values are not accepted. */
function sniffFrame(head: string): string | undefined {
  const second = head.charCodeAt(1);
  const third = head.charCodeAt(2);
  if ((second & 0xf6) === 0xf0) return ((third >> 2) & 0x0f) < 13 ? 'audio/aac' : undefined;
  const isLayer3 = (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  const bitRate = third >> 4;
  return isLayer3 && bitRate > 0 && bitRate < 15 && (third & 0x0c) !== 0x0c ? 'audio/mp3' : undefined;
}

/** WebM says so in the first bytes of its header; the API does not accept Matroska, which has the same signature. */
function sniffEbml(head: string, extension: string): string | undefined {
  if (!head.slice(0, 64).includes('\x42\x82\x84webm')) return undefined;
  return extension === '.weba' ? 'audio/webm' : 'video/webm';
}

export function countBase64Bytes(data: string): number {
  return Math.floor((trimTrailing(data, '=').length * 3) / 4);
}

/** `PNG, 640x480` for a picture whose size can be read, `HEIC` for another one, else the media type as it is. */
export function describeMedia(mimeType: string, bytes: Uint8Array): string {
  const [, format] = /^image\/(\w+)$/.exec(mimeType) ?? [];
  if (format === undefined) return mimeType;
  const size = measurePicture(bytes);
  return `${format.toUpperCase()}${size === undefined ? '' : `, ${size.width}x${size.height}`}`;
}

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

export function measurePicture(bytes: Uint8Array): PictureSize | undefined {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const start = view.toString('latin1', 0, 16);
    if (start.startsWith('\x89PNG') && start.endsWith('IHDR')) {
      return { width: view.readUInt32BE(16), height: view.readUInt32BE(20) };
    }
    if (start.startsWith('GIF8')) return { width: view.readUInt16LE(6), height: view.readUInt16LE(8) };
    if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return measureWebp(view);
    return start.startsWith('\xff\xd8') ? measureJpeg(view) : undefined;
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

/** https://developers.google.com/speed/webp/docs/riff_container: three kinds of first chunk, each with a size of its own. */
function measureWebp(view: Buffer): PictureSize | undefined {
  switch (view.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: view.readUIntLE(24, 3) + 1, height: view.readUIntLE(27, 3) + 1 };
    case 'VP8 ':
      return { width: view.readUInt16LE(26) & 0x3fff, height: view.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = view.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return undefined;
  }
}

function measureJpeg(view: Buffer): PictureSize | undefined {
  let at = 2;
  while (view.readUInt8(at) === 0xff) {
    const marker = view.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.readUInt16BE(at + 7), height: view.readUInt16BE(at + 5) };
    // A fill byte, else a segment of the length that it gives.
    at += marker === 0xff ? 1 : 2 + view.readUInt16BE(at + 2);
  }
  return undefined;
}

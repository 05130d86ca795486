/** An archive with these empty entries, as far as their local headers tell. */
export function zip(...names: readonly string[]): Buffer {
  return Buffer.concat(names.map((name) => storedEntry(name, '')));
}

/** The beginning of an OpenDocument file. */
export function openDocument(kind: string, type = `application/vnd.oasis.opendocument.${kind}`): Buffer {
  return Buffer.concat([storedEntry('mimetype', type), zip('content.xml')]);
}

/** The beginning of a file of the old binary formats. */
export function ole(): Buffer {
  return Buffer.from('d0cf11e0a1b11ae10000', 'hex');
}

function storedEntry(name: string, content: string): Buffer {
  const header = Buffer.alloc(30);
  header.write('PK\x03\x04\x14', 'latin1');
  header.writeUInt32LE(content.length, 18);
  header.writeUInt32LE(content.length, 22);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, Buffer.from(name + content)]);
}

/**
 * A Windows library (PE32+) without code: each of its exports is the name of a function of another library.
 * https://learn.microsoft.com/en-us/windows/win32/debug/pe-format
 */
export function makeForwarder(name, forwards) {
  const section = makeExports(
    name,
    Object.entries(forwards).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  return Buffer.concat([makeHeaders(section.length), section], HEADERS + PAGE);
}

const PAGE = 0x1000;
const HEADERS = 0x200;
const DIRECTORY = 40;

/** The export directory, its three tables, and the names; the section is loaded at the second page. */
function makeExports(library, entries) {
  const count = entries.length;
  const [addresses, names] = [DIRECTORY, DIRECTORY + 4 * count];
  const ordinals = names + 4 * count;
  const strings = [];
  let end = ordinals + 2 * count;
  const addString = (text) => {
    const bytes = Buffer.from(`${text}\0`, 'latin1');
    strings.push(bytes);
    end += bytes.length;
    return PAGE + end - bytes.length;
  };
  const tables = Buffer.alloc(end);
  tables.writeUInt32LE(addString(library), 12);
  [1, count, count, PAGE + addresses, PAGE + names, PAGE + ordinals].forEach((value, at) => {
    tables.writeUInt32LE(value, 16 + 4 * at);
  });
  entries.forEach(([exported, forwardedTo], at) => {
    tables.writeUInt32LE(addString(forwardedTo), addresses + 4 * at);
    tables.writeUInt32LE(addString(exported), names + 4 * at);
    tables.writeUInt16LE(at, ordinals + 2 * at);
  });
  return Buffer.concat([tables, ...strings]);
}

function makeHeaders(exportsLength) {
  const bytes = Buffer.alloc(HEADERS);
  const put = (offset, value, size = 4) => bytes.writeUIntLE(value, offset, size);
  bytes.write('MZ');
  put(0x3c, 0x80);
  bytes.write('PE\0\0', 0x80, 'latin1');
  // The file header: x64, one section, 240 bytes of optional header; an executable library that knows large addresses.
  put(0x84, 0x8664, 2);
  put(0x86, 1, 2);
  put(0x94, 240, 2);
  put(0x96, 0x2022, 2);
  const optional = 0x98;
  put(optional, 0x20b, 2);
  put(optional + 8, PAGE);
  put(optional + 24, 0x180000000, 6);
  put(optional + 32, PAGE);
  put(optional + 36, HEADERS);
  for (const version of [40, 48]) put(optional + version, 6, 2);
  put(optional + 56, 2 * PAGE);
  put(optional + 60, HEADERS);
  // Windows' character subsystem, which may be loaded next to libraries built for NX.
  put(optional + 68, 3, 2);
  put(optional + 70, 0x100, 2);
  for (const [offset, reserve] of [
    [72, 0x100000],
    [80, PAGE],
    [88, 0x100000],
    [96, PAGE],
  ])
    put(optional + offset, reserve);
  put(optional + 108, 16);
  put(optional + 112, PAGE);
  put(optional + 116, exportsLength);
  const section = optional + 240;
  bytes.write('.rdata', section);
  for (const [offset, value] of [
    [8, PAGE],
    [12, PAGE],
    [16, PAGE],
    [20, HEADERS],
    [36, 0x40000040],
  ])
    put(section + offset, value);
  return bytes;
}

/** What a terminal makes of a text. */
export interface Seen {
  /** The characters it shows, and the newlines and tabs. */
  readonly printed: string;
  /** Everything it does besides. */
  readonly obeyed: readonly string[];
}

type State = 'ground' | 'escape' | 'csi' | 'string';

/**
 * The parser that DEC's terminals have and others copy (https://vt100.net/emu/dec_ansi_parser), with C1 in 8 bits: it tells
 * printing from everything else, and does not care what a sequence means.
 */
export function onTerminal(text: string): Seen {
  let state: State = 'ground';
  let printed = '';
  const obeyed: string[] = [];
  let sequence = '';

  const begin = (next: State, char: string): void => {
    // A string that is cut off by another sequence has been obeyed all the same.
    if (state === 'string') obeyed.push(sequence);
    state = next;
    sequence = char;
  };
  const end = (char: string): void => {
    obeyed.push(sequence + char);
    state = 'ground';
  };
  const execute = (char: string): void => {
    if (char === '\n' || char === '\t') printed += char;
    else obeyed.push(char);
  };
  const anywhere = (code: number, char: string): boolean => {
    if (code === 0x1b) begin('escape', char);
    else if (code === 0x9b) begin('csi', char);
    else if ([0x90, 0x98, 0x9d, 0x9e, 0x9f].includes(code)) begin('string', char);
    else if (code === 0x18 || code === 0x1a || (code >= 0x80 && code <= 0x9f)) end(char);
    else return false;
    return true;
  };
  const steps: Readonly<Record<State, (code: number, char: string) => void>> = {
    ground: (code, char) => {
      if (code < 0x20 || code === 0x7f) execute(char);
      else printed += char;
    },
    escape: (code, char) => {
      if (code < 0x20) execute(char);
      else if (char === '[') begin('csi', `${sequence}[`);
      else if (sequence === '\u001b' && ']PX^_'.includes(char)) begin('string', sequence + char);
      else if (code >= 0x30 && code < 0x7f) end(char);
      else if (code > 0x9f) inText(char);
      else sequence += char;
    },
    csi: (code, char) => {
      if (code < 0x20) execute(char);
      else if (code >= 0x40 && code < 0x7f) end(char);
      else if (code > 0x9f) inText(char);
      else sequence += char;
    },
    string: (code, char) => {
      if (code === 0x07) end(char);
      else sequence += char;
    },
  };
  // What is not of 7 bits ends a sequence and is shown, as xterm does it.
  const inText = (char: string): void => {
    end('');
    printed += char;
  };

  for (const char of text.split('')) {
    const code = char.charCodeAt(0);
    if (!anywhere(code, char)) steps[state](code, char);
  }
  if (state !== 'ground') obeyed.push(sequence);
  return { printed, obeyed };
}

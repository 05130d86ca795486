import { addLine, type Cut, closeBlock, newCut, type Segment } from './cut.ts';

export interface Segmenter {
  /** The segments that are complete after this text. Each line is looked at once. */
  push(text: string): readonly Segment[];
  /** The rest, as if the text ended here; an open fence ends too. */
  end(): readonly Segment[];
}

/** Cuts streaming Markdown into segments by looking at lines alone; what a block means is left to the lexer. */
export function segmenter(): Segmenter {
  const lines = lineSplitter();
  let cut: Cut = newCut();
  const take = (): readonly Segment[] => cut.ready.splice(0);
  return {
    push(text) {
      for (const line of lines.push(text)) addLine(cut, line);
      return take();
    },
    end() {
      const rest = lines.rest();
      if (rest !== '') addLine(cut, rest);
      closeBlock(cut);
      const last = take();
      cut = newCut();
      return last;
    },
  };
}

interface LineSplitter {
  push(text: string): readonly string[];
  rest(): string;
}

/** A line without an end is shown in stretches of about this length. */
const MAX_LINE_LENGTH = 65_536;

/** Pieces of an unfinished line are joined once, when its end has come or it has grown too long to be waited for. */
function lineSplitter(): LineSplitter {
  let pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  const rest = (): string => {
    const line = pieces.join('');
    pieces = [];
    length = 0;
    return line;
  };
  const stretches = (): readonly string[] => {
    const cut: string[] = [];
    let line = rest();
    while (line.length > MAX_LINE_LENGTH) {
      const space = line.lastIndexOf(' ', MAX_LINE_LENGTH);
      const end = space > 0 ? space : MAX_LINE_LENGTH;
      cut.push(line.slice(0, end));
      line = line.slice(space > 0 ? end + 1 : end);
    }
    add(line);
    return cut;
  };
  return {
    push(text) {
      const complete: string[] = [];
      for (const [index, piece] of text.split('\n').entries()) {
        if (index > 0) complete.push(rest());
        add(piece);
        if (length > MAX_LINE_LENGTH) complete.push(...stretches());
      }
      return complete;
    },
    rest,
  };
}

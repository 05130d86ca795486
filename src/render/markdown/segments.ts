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

/** Pieces of an unfinished line are joined once, when its end has come. */
function lineSplitter(): LineSplitter {
  let pieces: string[] = [];
  const rest = (): string => {
    const line = pieces.join('');
    pieces = [];
    return line;
  };
  return {
    push(text) {
      const [first = '', ...more] = text.split('\n');
      pieces.push(first);
      if (more.length === 0) return [];
      const complete = [rest(), ...more.slice(0, -1)];
      pieces.push(more.at(-1) ?? '');
      return complete;
    },
    rest,
  };
}

// Draws what a program left on a terminal: bytes in, SVG out.

const TOKEN =
  /\u001b\[([?<>=]?)([\d;:]*)([A-Za-z])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[=>78]|[\r\n\b\u0007]|[^\u001b\r\n\b\u0007]+/g;
const CELL = { width: 8.4, height: 19 };
const MARGIN = 16;
const TITLE = 34;
const PALETTE = ['#2b3036', '#f07178', '#a5d67c', '#ffcb6b', '#82aaff', '#c792ea', '#7fdbca', '#d6deeb'];
const BRIGHT = ['#7a8490', '#ff8b92', '#c3e88d', '#ffe585', '#a6c1ff', '#e1acff', '#a3f7e8', '#ffffff'];
const COLOURS = { back: '#171b21', text: '#d6deeb', faint: '#8a95a3', bar: '#222831' };
const PLAIN = {};
/** Characters that many fonts lack, as paths in a cell whose lower left corner is the start of the base line. */
const SHAPES = {
  '⏹': 'M0.5 -9h8v8h-8z',
  '❯': 'M1.5 -10.5h2l3.4 5.3l-3.4 5.2h-2l3.4 -5.2z',
  '✓': 'M0.6 -4.6l1.2 -1.2l1.9 2.1l4 -6.3l1.2 0.9l-5 7.9z',
  '✗': 'M0.8 -8.6l1.2 -1.2l2.4 3l2.6 -3.1l1.1 1l-2.7 3.4l2.7 3.4l-1.2 1.1l-2.6 -3.2l-2.5 3.2l-1.2 -1l2.8 -3.5z',
};

/** Each row is a list of cells. */
export function layOutScreen(output, columns) {
  const rows = [[]];
  let row = 0;
  let column = 0;
  let style = PLAIN;
  const ensureRow = (index) => {
    while (rows.length <= index) rows.push([]);
    return rows[index];
  };
  const print = (text) => {
    for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
      const width = hasWideCell(segment) ? 2 : 1;
      if (column + width > columns) {
        row += 1;
        column = 0;
      }
      const cells = ensureRow(row);
      while (cells.length < column) cells.push({ text: ' ', style: PLAIN });
      cells[column] = { text: segment, style };
      if (width === 2) cells[column + 1] = { text: '', style };
      column += width;
    }
  };
  const move = (parameters, final) => {
    const count = Number(parameters) || 1;
    if (final === 'm') style = applyCodes(style, parameters);
    else if (final === 'A') row = Math.max(0, row - count);
    else if (final === 'B') row += count;
    else if (final === 'C') column = Math.min(columns - 1, column + count);
    else if (final === 'D') column = Math.max(0, column - count);
    else if (final === 'G') column = count - 1;
    else if (final === 'K') ensureRow(row).length = Math.min(ensureRow(row).length, column);
    else if (final === 'J') {
      ensureRow(row).length = Math.min(ensureRow(row).length, column);
      rows.length = row + 1;
    }
  };
  for (const [token, mark, parameters, final] of output.matchAll(TOKEN)) {
    if (final !== undefined) {
      if (mark === '') move(parameters, final);
    } else if (token === '\r') column = 0;
    else if (token === '\b') column = Math.max(0, column - 1);
    else if (token === '\n') {
      row += 1;
      ensureRow(row);
    } else if (!/^[\u001b\u0007]/.test(token)) print(token);
  }
  const last = rows.findLastIndex((cells) => cells.some(({ text }) => text.trim() !== ''));
  return rows.slice(0, last + 1);
}

/** An SVG that reads well on light and dark pages. `title` is for the title bar and for screen readers. */
export function drawPicture(rows, { columns, title }) {
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const height = Math.ceil(rows.length * CELL.height + TITLE + 2 * MARGIN);
  const lines = rows.map((cells, index) => drawLine(cells, TITLE + 1.5 * MARGIN + index * CELL.height)).filter(Boolean);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" rx="9" fill="${COLOURS.back}" stroke="${BRIGHT[0]}"/>
<path d="M0 ${TITLE}V9a9 9 0 0 1 9-9h${width - 18}a9 9 0 0 1 9 9v${TITLE - 9}z" fill="${COLOURS.bar}"/>
<g fill="${BRIGHT[0]}"><circle cx="20" cy="17" r="6"/><circle cx="40" cy="17" r="6"/><circle cx="60" cy="17" r="6"/></g>
<text x="${width / 2}" y="22" text-anchor="middle" font-family="system-ui,sans-serif" font-size="13" fill="${COLOURS.faint}">${escapeXml(title)}</text>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="${COLOURS.text}">
${lines.join('\n')}
</g>
</svg>
`;
}

function drawLine(cells, y) {
  const runs = [];
  for (const [column, { text, style }] of cells.entries()) {
    // The second half of a wide character.
    if (text === '') continue;
    const open = runs.at(-1);
    // A wide character is a run of its own: fonts disagree about its width.
    const isAlone = hasWideCell(text) || text in SHAPES;
    if (open && open.key === JSON.stringify(style) && !open.isAlone && !isAlone) open.text += text;
    else runs.push({ key: JSON.stringify(style), style, text, column, isAlone });
  }
  return runs
    .filter(({ text }) => text.trim() !== '')
    .map((run) => drawRun(run, y))
    .join('');
}

function drawRun({ text, style, column }, y) {
  const lead = text.length - text.trimStart().length;
  const x = (MARGIN + (column + lead) * CELL.width).toFixed(1);
  const shown = text.trim();
  if (shown in SHAPES) {
    const fill = formatAttributes(style) || ` fill="${COLOURS.text}"`;
    return `<path transform="translate(${x} ${y})" d="${SHAPES[shown]}"${fill}/>`;
  }
  const length = /^[\x20-\x7e]+$/.test(shown) ? ` textLength="${(shown.length * CELL.width).toFixed(1)}"` : '';
  // Consecutive spaces would be drawn as one.
  return `<text x="${x}" y="${y}"${length}${formatAttributes(style)}>${escapeXml(shown.replaceAll(' ', '\u00a0'))}</text>`;
}

function formatAttributes({ colour, isFaint, isBold, isItalic, isUnderlined }) {
  const fill = colour ?? (isFaint ? COLOURS.faint : undefined);
  return [
    fill && ` fill="${fill}"`,
    isBold && ' font-weight="bold"',
    isItalic && ' font-style="italic"',
    isUnderlined && ' text-decoration="underline"',
  ]
    .filter(Boolean)
    .join('');
}

function applyCodes(style, parameters) {
  const codes = parameters.split(';').map(Number);
  let next = { ...style };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index];
    if (code === 0) next = {};
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isFaint = true;
    else if (code === 3) next.isItalic = true;
    else if (code === 4) next.isUnderlined = true;
    else if (code === 22) next = { ...next, isBold: undefined, isFaint: undefined };
    else if (code === 23) next.isItalic = undefined;
    else if (code === 24) next.isUnderlined = undefined;
    else if (code === 39) next.colour = undefined;
    else if (code >= 30 && code <= 37) next.colour = PALETTE[code - 30];
    else if (code >= 90 && code <= 97) next.colour = BRIGHT[code - 90];
    else if (code === 38 && codes[index + 1] === 5) {
      next.colour = [...PALETTE, ...BRIGHT][codes[index + 2]] ?? COLOURS.text;
      index += 2;
    }
  }
  return next;
}

function hasWideCell(text) {
  return /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u.test(
    text,
  );
}

function escapeXml(text) {
  return text.replace(/[&<>"]/g, (mark) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[mark]);
}

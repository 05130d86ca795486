/**
 * Search, unfold, copy. The Content-Security-Policy has its hash, so it must not contain session data. It creates no
 * HTML, and the page is readable without it.
 */
export const SCRIPT = `
'use strict';
{
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const find = byId('find');
  const found = byId('found');
  const unfold = byId('unfold');
  const turns = all('.turn');
  const links = new Map(all('nav li').map((item) => [item.firstChild.hash.slice(1), item]));
  const MAX_MARKS = 2000;
  const canMark = 'highlights' in CSS;
  let opened = [];
  let marks = [];
  let here = -1;

  document.querySelector('.finder').hidden = false;
  if (!matchMedia('(min-width: 76rem)').matches) for (const list of all('nav details')) list.open = false;
  for (const time of all('time')) time.title = new Date(time.dateTime).toLocaleString();

  // Lower case may be longer than what it stands for; then positions would not fit.
  const folded = (text) => {
    const lower = text.toLowerCase();
    return lower.length === text.length ? lower : text;
  };

  const rangesIn = (turn, words, room) => {
    const nodes = [];
    const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest('.copy') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    let text = '';
    while (walker.nextNode()) {
      nodes.push({ node: walker.currentNode, begin: text.length });
      text += folded(walker.currentNode.data);
    }
    const ranges = [];
    let index = 0;
    const place = (range, side, at) => {
      while (index + 1 < nodes.length && nodes[index + 1].begin + (side === 'setEnd' ? 0 : -1) < at) index += 1;
      range[side](nodes[index].node, at - nodes[index].begin);
    };
    let count = 0;
    for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + words.length)) {
      count += 1;
      if (ranges.length >= room) continue;
      const range = new Range();
      place(range, 'setStart', at);
      place(range, 'setEnd', at + words.length);
      ranges.push(range);
    }
    return { count, ranges };
  };

  const openAround = (range) => {
    for (let node = range.startContainer.parentElement.closest('details'); node; node = node.parentElement.closest('details')) {
      if (!node.open) {
        node.open = true;
        opened.push(node);
      }
    }
  };

  const paint = () => {
    if (!canMark) return;
    CSS.highlights.set('found', new Highlight(...marks));
    CSS.highlights.set('here', new Highlight(...marks.slice(here, here + 1)));
  };

  const search = () => {
    const words = folded(find.value.trim());
    for (const details of opened) details.open = false;
    opened = [];
    marks = [];
    here = -1;
    let count = 0;
    let places = 0;
    for (const turn of turns) {
      const result = words === '' ? { count: 0, ranges: [] } : rangesIn(turn, words, MAX_MARKS - marks.length);
      turn.hidden = words !== '' && result.count === 0;
      if (links.has(turn.id)) links.get(turn.id).hidden = turn.hidden;
      count += result.count;
      places += result.count > 0 ? 1 : 0;
      marks.push(...result.ranges);
    }
    marks.forEach(openAround);
    paint();
    const some = (amount, one, more) => amount.toLocaleString() + ' ' + (amount === 1 ? one : more);
    const amounts = some(count, 'match', 'matches') + ' in ' + some(places, 'turn', 'turns');
    found.value = words === '' ? '' : count === 0 ? 'Nothing found' : amounts;
  };

  const step = (by) => {
    if (marks.length === 0) return;
    here = (here + by + marks.length) % marks.length;
    paint();
    marks[here].startContainer.parentElement.scrollIntoView({ block: 'center' });
  };

  let timer = 0;
  find.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') {
      find.value = '';
      search();
    }
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === find) return;
    event.preventDefault();
    find.focus();
  });

  unfold.addEventListener('click', () => {
    const isOpen = unfold.getAttribute('aria-pressed') === 'true';
    unfold.setAttribute('aria-pressed', String(!isOpen));
    unfold.textContent = isOpen ? 'Unfold all' : 'Fold all';
    for (const details of all('main details')) details.open = !isOpen;
    opened = [];
  });

  const textOf = (block) => {
    const copy = block.cloneNode(true);
    for (const extra of all('.copy, .language, .tool, .thought, h3, .tokens, .rest > summary', copy)) extra.remove();
    return copy.textContent.trim() + '\\n';
  };
  const addCopy = (block) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    block.append(button);
  };
  for (const block of all('.code, .prompt, .answer')) addCopy(block);
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('.copy');
    if (!button) return;
    try {
      await navigator.clipboard.writeText(textOf(button.parentElement));
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
}
`;

// Functions that run inside the page: each must stand alone.

/** By how many pixels the page is wider than its window. */
export function overflow() {
  return Math.max(0, document.documentElement.scrollWidth - innerWidth);
}

/** Every text whose colour is too close to what is behind it. */
export function contrastFaults() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (rgb(colour)[3] === 255) return colour;
    }
    return 'white';
  };
  const low = new Set();
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === '' || !element.checkVisibility()) continue;
    texts += 1;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return { texts, low: [...low] };
}

/** Types into the search, as a person would, and tells what the page made of it. */
export async function searchFor(words) {
  const find = document.getElementById('find');
  find.value = words;
  const begin = performance.now();
  find.dispatchEvent(new Event('input'));
  await new Promise((resolve) => setTimeout(resolve, 200));
  find.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const ms = Math.round(performance.now() - begin);
  const marks = [...(CSS.highlights.get('found') ?? [])];
  const isRight = marks.every((mark) => mark.toString().toLowerCase() === words.toLowerCase());
  const isVisible = isRight && marks.every((mark) => mark.startContainer.parentElement.checkVisibility());
  const turns = [...document.querySelectorAll('.turn')].filter((turn) => !turn.hidden).length;
  return { matches: marks.length, turns, isVisible, said: document.getElementById('found').value, ms };
}

/** What is in the page and not of our making. */
export function foreignNodes() {
  const TAGS =
    `html head meta title style body a header h1 dl div dt dd p input output button nav details summary ol ul li
    main article h2 h3 h4 h5 h6 time section span code pre figure img figcaption strong em del br blockquote table thead
    tbody tr th td hr footer script`.split(/\s+/);
  const ATTRIBUTES = `lang charset http-equiv content name class href id role hidden type placeholder aria-label
    autocomplete spellcheck for aria-pressed open tabindex dir datetime src alt loading rel start title`.split(/\s+/);
  const found = [];
  let elements = 0;
  for (const element of document.querySelectorAll('*')) {
    elements += 1;
    if (!TAGS.includes(element.localName) || element.namespaceURI !== document.documentElement.namespaceURI) {
      found.push(element.localName);
    }
    for (const { name } of element.attributes) if (!ATTRIBUTES.includes(name)) found.push(name);
    const { href, src, title } = element;
    if (href && !/^(?:https?:|mailto:)/.test(href) && !element.getAttribute('href').startsWith('#')) found.push(href);
    if (href && /^(?:https?:|mailto:)/.test(href) && !/\bnoreferrer\b/.test(element.rel)) found.push(`rel of ${href}`);
    if (src && !/^data:image\/(?:png|jpeg|webp|gif);base64,[\w+/]+=*$/.test(src)) found.push(src);
    if (title && element.localName !== 'time') found.push(title);
  }
  for (const only of ['script', 'style', 'title', 'main', 'body', 'head']) {
    if (document.querySelectorAll(only).length !== 1) found.push(`${only}, more than once`);
  }
  return { elements, found: [...new Set(found)] };
}

/** All words on the page, plain characters alone. */
export function visibleText() {
  const copy = document.body.cloneNode(true);
  for (const extra of copy.querySelectorAll('script, .unseen, .copy')) extra.remove();
  return copy.textContent.replace(/\s|[^\x20-\x7e]/gu, '');
}

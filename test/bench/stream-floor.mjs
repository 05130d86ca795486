// What streaming is measured against: reads the bytes of an answer, parses the JSON of each event and writes what `text` or
// `stream-json`, its second argument, has of it, waiting where there is no room. Without that argument it writes only a count.
import { request } from 'node:http';

const [, , url, format] = process.argv;
const shown = {
  text: (text) => text,
  'stream-json': (text) => `{"type":"content","text":${JSON.stringify(text)}}\n`,
}[format];
const asked = request(url, { method: 'POST', agent: false }, (response) => {
  let rest = '';
  let events = 0;
  response.setEncoding('utf8');
  response.on('data', (text) => {
    const whole = (rest + text).split('\r\n\r\n');
    rest = whole.pop();
    let output = '';
    for (const event of whole) {
      const { candidates } = JSON.parse(event.slice('data: '.length));
      if (shown) output += shown(candidates[0].content.parts[0].text);
      events += 1;
    }
    if (output === '' || process.stdout.write(output)) return;
    response.pause();
    process.stdout.once('drain', () => response.resume());
  });
  response.on('end', () => shown ?? process.stdout.write(`${events}\n`));
});
asked.end('{}');

// What streaming is measured against: reads the bytes of an answer and parses the JSON of each event. Writes only a count.
import { request } from 'node:http';

const asked = request(process.argv[2], { method: 'POST', agent: false }, (response) => {
  let rest = '';
  let events = 0;
  response.setEncoding('utf8');
  response.on('data', (text) => {
    const whole = (rest + text).split('\r\n\r\n');
    rest = whole.pop();
    for (const event of whole) {
      JSON.parse(event.slice('data: '.length));
      events += 1;
    }
  });
  response.on('end', () => process.stdout.write(`${events}\n`));
});
asked.end('{}');

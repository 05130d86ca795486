// What a chunk's way through gmn is measured beside: the same bytes, handed on as they come.
const { request } = require('node:http');

request(process.argv[2], { method: 'POST', agent: false }, (response) => {
  response.on('data', (chunk) => process.stdout.write(chunk));
}).end('{}');

// A line with a round trip: holds every byte for half of it each way, in order, and counts connections.
import { connect, createServer } from 'node:net';

/** Relays to `port` of this machine. `opened()` counts all connections so far, `open()` those that are open. */
export async function openRelay({ port, roundTripMs }) {
  let opened = 0;
  const sockets = new Set();
  const server = createServer((client) => {
    opened += 1;
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
    }
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    hold(client, upstream, roundTripMs / 2);
    hold(upstream, client, roundTripMs / 2);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    opened: () => opened,
    open: () => sockets.size,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Timers of one length run in the order they were set, so the bytes stay in theirs. */
function hold(from, to, ms) {
  from.on('data', (data) => setTimeout(() => to.write(data), ms));
  from.on('end', () => setTimeout(() => to.end(), ms));
  from.on('close', () => setTimeout(() => to.destroy(), ms + 1));
}

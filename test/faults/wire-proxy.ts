import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'vitest';

/** What a proxy does with a CONNECT: digs the tunnel, asks for a password, refuses, says nothing, hangs up. */
export type ProxyManner = 'pass' | 407 | 403 | 502 | 'silence' | 'fin';

export interface WireProxy {
  /** `host:port` */
  readonly address: string;
  /** The first lines of every request for a tunnel. */
  readonly heads: readonly string[];
}

/** A proxy on 127.0.0.1 for tunnels only. */
export async function wireProxy(t: Pick<TestContext, 'onTestFinished'>, manner: ProxyManner): Promise<WireProxy> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    socket.once('data', (data) => {
      const head = data.toString('latin1');
      heads.push(head);
      if (manner === 'silence') return;
      if (manner === 'fin') return void socket.end();
      if (manner !== 'pass') return void socket.end(`HTTP/1.1 ${manner} No\r\ncontent-length: 0\r\n\r\n`);
      const port = /^CONNECT [^ ]*:(\d+) /.exec(head)?.[1];
      const target = connect(Number(port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(target).pipe(socket);
      });
      keep(target);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, heads };
}

// Wine 8 cannot connect a socket whose keep-alive was set before: it is set when the socket is connected.
const { Socket } = require('node:net');

const { setKeepAlive } = Socket.prototype;
Socket.prototype.setKeepAlive = function setKeepAliveOnceConnected(...args) {
  if (!this.connecting) return setKeepAlive.apply(this, args);
  return this.once('connect', () => setKeepAlive.apply(this, args));
};

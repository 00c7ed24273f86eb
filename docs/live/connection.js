// The engine in this page's worker takes the place of a server: a socket to it that session.js uses as
// it uses a WebSocket, and how fast it is.
import {Session} from './session.js';

const MODEL = new URLSearchParams(location.search).get('model') ?? 'digits.pt';

// It loads the engine while the reader looks at the page.
const worker = new Worker('worker.js?' + new URLSearchParams({model: MODEL}), {type: 'module'});
const speed = document.getElementById('speed');

const sockets = new Map(); // those that are open, by the numbers that the worker knows them by
let numSockets = 0;

/** A stream in the worker, with the part of the interface of a WebSocket that a Session uses. */
class EngineSocket {
  /** `rate` of the samples, in Hz. */
  constructor(rate) {
    this.rate = rate;
    this.number = numSockets++;
    this.bufferedAmount = 0; // bytes that the worker has not processed yet
    this.numSamples = 0; // that it has processed
    this.busyMs = 0; // that it spent on them
    sockets.set(this.number, this);
    setTimeout(() => this.onopen());
  }

  /** `data`: a message as text, or samples as an Int16Array. */
  send(data) {
    if (typeof data !== 'string') this.bufferedAmount += data.byteLength;
    worker.postMessage({stream: this.number, data, sentAt: performance.timeOrigin + performance.now()});
  }

  close() {
    sockets.delete(this.number);
  }

  /** The worker's answer to `send`. */
  receive({messages, numSamples, busyMs}) {
    this.bufferedAmount -= numSamples * Int16Array.BYTES_PER_ELEMENT;
    this.numSamples += numSamples;
    this.busyMs += busyMs;
    if (this.numSamples > 0) this.showSpeed();
    for (const data of messages) {
      this.onmessage({data});
      if (JSON.parse(data).type === 'error') this.onclose();
    }
  }

  showSpeed() {
    const timesRealTime = this.numSamples / this.rate * 1000 / Math.max(this.busyMs, 1);
    speed.textContent = `${timesRealTime.toFixed(timesRealTime < 10 ? 1 : 0)} × real time`;
  }
}

worker.onmessage = ({data}) => sockets.get(data.stream)?.receive(data);
// Where a worker cannot be a module, or its files are missing.
worker.onerror = ({message}) => {
  const error = JSON.stringify({type: 'error', code: 'internal',
    message: `the engine cannot be started: ${message ?? 'a file of this page is missing'}`});
  for (const socket of [...sockets.values()]) {
    socket.receive({messages: [error], numSamples: 0, busyMs: 0});
  }
};

class EngineSession extends Session {
  openSocket() {
    return new EngineSocket(this.rate);
  }

  /** Without a network between them, a stream that ended once would end again. */
  onClose() {
    if (!this.isOver) this.end('failed', this.refusal);
  }
}

/** A stream of samples at `rate` (Hz). `options`: further fields of the start message. */
export function openSession(rate, options) {
  return new EngineSession(location.href, '', rate, options);
}

/** The engine takes samples, and no file. */
export const openUpload = null;

/** The text for the reader about a session that failed. */
export function explain({message}) {
  return `The stream has ended: ${message}.`;
}

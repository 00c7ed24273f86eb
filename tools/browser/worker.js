// The worker of a web page: runs the engine, so that the page stays responsive. It is made as a module,
// from worker.js?model=PATH; PATH is relative to this file.
//
// Messages in: {stream, data, sentAt}. `stream` is a number of the sender's choice; a "start" of another
// one ends the stream before it. `data` is a message of Runnel's protocol as
// text ("start", "finish"), or an Int16Array or Float32Array of mono samples. `sentAt`: milliseconds
// since 1970.
// Messages out, one for each: {stream, messages, numSamples, busyMs}: the protocol's messages as texts,
// the number of samples that were processed, and the time that it took.
import {Engine} from './engine.js';

const MODEL = new URL(new URL(self.location.href).searchParams.get('model'), self.location.href);

async function fetchBytes(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: the answer is ${answer.status}, expected the file`);
  return answer.arrayBuffer();
}

function errorText(error) {
  return JSON.stringify({type: 'error', code: 'internal', message: error.message});
}

// {engine}, or {problem} that every stream is told.
const loading = (async () => {
  const files = [new URL('runnel.wasm', self.location.href), MODEL].map(fetchBytes);
  return {engine: await Engine.load(...await Promise.all(files))};
})().catch((error) => ({problem: errorText(error)}));

const now = () => performance.timeOrigin + performance.now();

let current = null; // the stream that the engine has

function process(engine, stream, data, sentAt) {
  const type = typeof data === 'string' ? JSON.parse(data).type : 'audio';
  if (type === 'start') current = stream;
  if (stream !== current) return []; // it has ended
  const waitedMs = Math.max(0, now() - sentAt);
  if (type === 'audio') return engine.accept(data, waitedMs);
  return type === 'finish' ? engine.finish(waitedMs) : engine.start(data);
}

async function answer({stream, data, sentAt}) {
  const {engine, problem} = await loading;
  const numSamples = typeof data === 'string' ? 0 : data.length;
  const begin = performance.now();
  let messages = [problem];
  if (engine) {
    try {
      messages = process(engine, stream, data, sentAt);
    } catch (error) { // the module has stopped, as for want of memory
      messages = [errorText(error)];
    }
  }
  self.postMessage({stream, messages, numSamples, busyMs: performance.now() - begin});
}

self.onmessage = ({data}) => answer(data);

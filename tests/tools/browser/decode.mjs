// Runs the engine for web pages in Node.js, as a page's worker does.
//   node decode.mjs FOLDER MODEL
// FOLDER has engine.js. Every line of standard input is a recording as JSON: {path, packet, start}; `path`
// of a file of float32 samples, which are given `packet` at a time; `start`, the message that begins the
// stream. Prints {messages, seconds} for each: all messages, and how long they took.
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {pathToFileURL} from 'node:url';

const [folder, model] = process.argv.slice(2);
const {Engine} = await import(pathToFileURL(`${folder}/engine.js`));

function decode(engine, {path, packet, start}) {
  const bytes = readFileSync(path);
  const samples = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const begin = performance.now();
  const messages = engine.start(JSON.stringify({type: 'start', version: 1, ...start}));
  for (let i = 0; i < samples.length && isLive(messages); i += packet) {
    messages.push(...engine.accept(samples.subarray(i, i + packet)));
  }
  if (isLive(messages)) messages.push(...engine.finish());
  const seconds = (performance.now() - begin) / 1000;
  return {messages: messages.map((text) => JSON.parse(text)), seconds};
}

function isLive(messages) {
  return !messages.at(-1).startsWith('{"type":"error"');
}

try {
  const engine = await Engine.load(readFileSync(`${folder}/runnel.wasm`), readFileSync(model));
  for await (const line of createInterface({input: process.stdin})) {
    console.log(JSON.stringify(decode(engine, JSON.parse(line))));
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

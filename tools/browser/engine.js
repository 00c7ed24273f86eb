// The engine: a module of WebAssembly with a model and one stream at a time. Runs in a worker of a web
// page and in Node.js. It knows neither files nor the network.
import createModule from './runnel.js';

const MODEL_PATH = '/model'; // in the module's memory

// A function with one instruction of SIMD.
const SIMD_MODULE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10,
  10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

/**
 * Methods that return messages return an array of texts: messages of Runnel's protocol
 * (docs/protocol.md), "ready", "partial", "utterance", "final" and "error". After "final" and "error"
 * the stream is over.
 */
export class Engine {
  /**
   * `wasm`: the bytes of runnel.wasm; `model`: the bytes of a model file. Throws an Error, whose
   * message is one line.
   */
  static async load(wasm, model) {
    if (!WebAssembly.validate(SIMD_MODULE)) {
      throw new Error('this browser has no WebAssembly with SIMD; expected Chrome 91, Firefox 89, ' +
        'Safari 16.4 or a later one');
    }
    const module = await createModule({wasmBinary: wasm});
    module.FS.writeFile(MODEL_PATH, new Uint8Array(model));
    const engine = new Engine(module);
    const [error] = engine.messages(module.ccall('runnel_load', 'number', ['string'], [MODEL_PATH]));
    module.FS.unlink(MODEL_PATH);
    if (error) throw new Error(JSON.parse(error).message);
    return engine;
  }

  constructor(module) {
    this.module = module;
  }

  /** `message`: the text of a "start" message, without "encoding" or with any. A stream before it ends. */
  start(message) {
    return this.messages(this.module.ccall('runnel_start', 'number', ['string'], [message]));
  }

  /**
   * Samples of the stream: a Float32Array in [-1, 1] or an Int16Array, mono. They were sent `waitedMs`
   * milliseconds ago, which counts towards the latency in messages.
   */
  accept(samples, waitedMs = 0) {
    const begin = this.module._runnel_samples(samples.length) / Float32Array.BYTES_PER_ELEMENT;
    const place = this.module.HEAPF32.subarray(begin, begin + samples.length);
    if (samples instanceof Int16Array) {
      for (let i = 0; i < samples.length; ++i) place[i] = samples[i] / 32768;
    } else {
      place.set(samples);
    }
    return this.messages(this.module._runnel_accept(samples.length, waitedMs));
  }

  /** The audio is complete: the messages end with "final" or "error". */
  finish(waitedMs = 0) {
    return this.messages(this.module._runnel_finish(waitedMs));
  }

  /** Those at an address in the module's memory, a line each. */
  messages(address) {
    return this.module.UTF8ToString(address).split('\n').filter((line) => line);
  }
}

// Where audio comes from: the microphone, a recording that is played, a recording as fast as possible.
// Each source has `rate` (Hz) and calls onPacket(Float32Array, peak) in order; `ended` is a promise.

const FILE_RATE = 16000; // recordings are brought to it by the browser
const FAST_PACKET_SECONDS = 0.5;

/** An error whose message is meant for the reader of the page. */
export class SourceError extends Error {}

/** Reads `node` of `context` by the worklet in capture.js. Returns {stop}: after it, no packets come. */
async function capture(context, node, onPacket) {
  await context.audioWorklet.addModule('capture.js');
  const worklet = new AudioWorkletNode(context, 'capture');
  let flushed;
  const isFlushed = new Promise((resolve) => { flushed = resolve; });
  worklet.port.onmessage = ({data}) => {
    if (data.flushed) return flushed();
    if (data.samples.length > 0) onPacket(data.samples, data.peak);
  };
  node.connect(worklet);
  // Only what leads to the speakers is computed; the worklet itself is silent.
  worklet.connect(context.destination);
  return {
    async stop() {
      worklet.port.postMessage('flush');
      await isFlushed;
      worklet.disconnect();
    },
  };
}

function microphoneError(error) {
  switch (error.name) {
    case 'NotAllowedError':
      return new SourceError('The browser does not let this page use the microphone. Allow it in ' +
        'the address bar, then start again.');
    case 'NotFoundError':
      return new SourceError('No microphone was found. Connect one, or choose a recording.');
    case 'NotReadableError':
      return new SourceError('The microphone is in use by another program.');
    default:
      return new SourceError(`The microphone cannot be used: ${error.message}`);
  }
}

/** The microphone at the rate that the browser runs at. */
export async function openMicrophone(onPacket) {
  if (!navigator.mediaDevices) {
    throw new SourceError('Browsers give the microphone only to pages from https or this very ' +
      'machine. Choose a recording, or open the page by https.');
  }
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      audio: {channelCount: 1, echoCancellation: false, noiseSuppression: false},
    });
  } catch (error) {
    throw microphoneError(error);
  }
  const context = new AudioContext();
  const tap = await capture(context, context.createMediaStreamSource(stream), onPacket);
  await context.resume();
  const [track] = stream.getAudioTracks();
  return {
    rate: context.sampleRate,
    start() {},
    ended: new Promise((resolve) => track.addEventListener('ended', resolve)),
    async stop() {
      await tap.stop();
      for (const one of stream.getTracks()) one.stop();
      await context.close();
    },
  };
}

async function decode(file, context) {
  try {
    return await context.decodeAudioData(await file.arrayBuffer());
  } catch {
    throw new SourceError(`${file.name} is no recording that this browser can read.`);
  }
}

/** A recording, played aloud and recognised as it is heard. */
export async function openPlayback(file, onPacket) {
  const context = new AudioContext({sampleRate: FILE_RATE});
  let buffer;
  try {
    buffer = await decode(file, context);
  } catch (error) {
    await context.close();
    throw error;
  }
  const player = new AudioBufferSourceNode(context, {buffer});
  const tap = await capture(context, player, onPacket);
  player.connect(context.destination);
  await context.resume();
  return {
    rate: context.sampleRate,
    start() { player.start(); },
    ended: new Promise((resolve) => player.addEventListener('ended', resolve)),
    async stop() {
      await tap.stop();
      await context.close();
    },
  };
}

/** A recording, sent as fast as `hasRoom` (a function that returns a promise) allows. */
export async function openFile(file, onPacket, hasRoom) {
  const buffer = await decode(file, new OfflineAudioContext(1, 1, FILE_RATE));
  const channels = Array.from({length: buffer.numberOfChannels}, (_, i) => buffer.getChannelData(i));
  const size = Math.round(FILE_RATE * FAST_PACKET_SECONDS);
  let isOver = false;
  let ended;
  const source = {
    rate: FILE_RATE,
    async start() {
      for (let begin = 0; begin < buffer.length && !isOver; begin += size) {
        const samples = new Float32Array(Math.min(size, buffer.length - begin));
        let peak = 0;
        for (let i = 0; i < samples.length; ++i) {
          for (const channel of channels) samples[i] += channel[begin + i] / channels.length;
          peak = Math.max(peak, Math.abs(samples[i]));
        }
        onPacket(samples, peak);
        await hasRoom();
      }
      ended();
    },
    ended: new Promise((resolve) => { ended = resolve; }),
    async stop() { isOver = true; },
  };
  return source;
}

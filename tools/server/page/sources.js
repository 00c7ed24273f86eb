// Where audio comes from: the microphone, a recording that is played, a recording as fast as possible.
// Each source has `rate` (Hz) and calls onPacket(Float32Array, peak) in order; `ended` is a promise.

const FILE_RATE = 16000; // recordings are brought to it by the browser
const MAX_RATE = 48000; // of a microphone, as servers allow unless told otherwise
const FAST_PACKET_SECONDS = 0.5;

/** An error whose message is meant for the reader of the page. */
export class SourceError extends Error {}

/** Reads `node` of `context` by the worklet in capture.js. Returns {stop}: after it, no packets come. */
async function capture(context, node, onPacket) {
  try {
    await context.audioWorklet.addModule('capture.js');
  } catch {
    throw new SourceError('The server cannot be reached.');
  }
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

/** `source` with its rate and an end: what `node` gives goes to onPacket. Calls `close` at the end. */
async function tapped(context, node, onPacket, close, source) {
  try {
    const tap = await capture(context, node, onPacket);
    await context.resume();
    const stop = async () => {
      await tap.stop();
      await close();
    };
    return {...source, rate: context.sampleRate, stop};
  } catch (error) {
    await close();
    throw error;
  }
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

/** At the device's rate; a faster one the browser brings down to MAX_RATE. */
function microphoneContext() {
  const context = new AudioContext();
  if (context.sampleRate <= MAX_RATE) return context;
  context.close();
  return new AudioContext({sampleRate: MAX_RATE});
}

/** The microphone at the rate that the browser runs at, or at MAX_RATE. */
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
  const context = microphoneContext();
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    return context.close();
  };
  const [track] = stream.getAudioTracks();
  const ended = new Promise((resolve) => track.addEventListener('ended', resolve));
  return tapped(context, context.createMediaStreamSource(stream), onPacket, close,
    {start() {}, ended});
}

async function decode(file) {
  try {
    const context = new OfflineAudioContext(1, 1, FILE_RATE);
    return await context.decodeAudioData(await file.arrayBuffer());
  } catch {
    throw new SourceError(`${file.name} is no recording that this browser can read.`);
  }
}

/** A recording, played aloud and recognised as it is heard. */
export async function openPlayback(file, onPacket) {
  // Decoded first: a context that waits for a recording that is none would stay open.
  const buffer = await decode(file);
  const context = new AudioContext({sampleRate: FILE_RATE});
  const player = new AudioBufferSourceNode(context, {buffer});
  player.connect(context.destination);
  const ended = new Promise((resolve) => player.addEventListener('ended', resolve));
  return tapped(context, player, onPacket, () => context.close(),
    {start: () => player.start(), ended});
}

/** A recording, sent as fast as `hasRoom` (a function that returns a promise) allows. */
export async function openFile(file, onPacket, hasRoom) {
  const buffer = await decode(file);
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

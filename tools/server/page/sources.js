// The sources of audio: the microphone, and recordings.
// Each source has `rate` (Hz) and calls onPacket(Float32Array, peak) in order; `ended` is a promise.

const FILE_RATE = 16000; // the browser resamples recordings to it
const MAX_RATE = 48000; // of a microphone
const PACKET_SECONDS = 0.1; // of recordings

/** An error whose message the page shows. */
export class SourceError extends Error {}

/** Reads `node` of `context` by the worklet in capture.js. Returns {stop}, after which no packets come. */
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
  // Browsers run only nodes that lead to the speakers. The worklet outputs silence.
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

/** A context with the device's rate, or MAX_RATE for a faster device. */
function microphoneContext() {
  const context = new AudioContext();
  if (context.sampleRate <= MAX_RATE) return context;
  context.close();
  return new AudioContext({sampleRate: MAX_RATE});
}

/** The microphone. */
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
  try {
    const tap = await capture(context, context.createMediaStreamSource(stream), onPacket);
    await context.resume();
    const [track] = stream.getAudioTracks();
    return {
      rate: context.sampleRate,
      start() {},
      ended: new Promise((resolve) => { track.addEventListener('ended', resolve); }),
      async stop() {
        await tap.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function decode(file) {
  try {
    const context = new OfflineAudioContext(1, 1, FILE_RATE);
    return await context.decodeAudioData(await file.arrayBuffer());
  } catch {
    throw new SourceError(`${file.name}: not a recording that this browser can read; expected WAV, ` +
      'FLAC, MP3, Ogg or another audio format.');
  }
}

/** A recording. Before it sends the audio up to `seconds` it awaits the promise `isDue(seconds)`. */
export async function openFile(file, onPacket, isDue) {
  const buffer = await decode(file);
  const channels = Array.from({length: buffer.numberOfChannels}, (_, i) => buffer.getChannelData(i));
  const size = Math.round(FILE_RATE * PACKET_SECONDS);
  let isOver = false;
  let ended;
  return {
    rate: FILE_RATE,
    async start() {
      for (let begin = 0; begin < buffer.length; begin += size) {
        const samples = new Float32Array(Math.min(size, buffer.length - begin));
        await isDue((begin + samples.length) / FILE_RATE);
        if (isOver) return;
        let peak = 0;
        for (let i = 0; i < samples.length; ++i) {
          for (const channel of channels) samples[i] += channel[begin + i] / channels.length;
          peak = Math.max(peak, Math.abs(samples[i]));
        }
        onPacket(samples, peak);
      }
      ended();
    },
    ended: new Promise((resolve) => { ended = resolve; }),
    async stop() { isOver = true; },
  };
}

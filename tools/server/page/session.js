// One stream in Runnel's protocol (docs/protocol.md). Reconnects and resumes after a lost connection.
import {utteranceOf} from './utterance.js';

const VERSION = 1;
const MAX_BUFFERED_BYTES = 1 << 18; // not yet sent; sources that can wait then do
const ROOM_POLL_MS = 50;
const FIRST_WAIT_MS = 250; // before reconnecting; doubled each time
const LONGEST_WAIT_MS = 4000;
const MAX_TRIES = 8; // reconnects in a row without progress in the audio
const MAX_KEPT_SECONDS = 120; // audio that is kept for a resume

/** Errors that may pass after a while, or on another server behind the same address. */
const TRANSIENT = new Set(['full', 'address_full', 'draining', 'refused', 'internal',
  'stream_failed', 'snapshot_unknown', 'snapshot_invalid', 'store_unavailable']);

const EXPLANATIONS = {
  full: 'The server is full. Try again in a moment.',
  address_full: 'Too many streams come from this network. End one, or try again in a moment.',
  draining: 'The server is shutting down. Try again in a moment.',
  store_unavailable: 'The server cannot reach its store of streams. Start again.',
  unauthorized: 'The server asks for an access token.',
  idle_timeout: 'The server received nothing for too long and ended the stream.',
  time_limit: 'The stream reached the longest time that the server allows.',
  refused: 'The server does not take another stream from here. Try again in a moment.',
  not_found: 'There is no server at the address of this page. A proxy must pass on all paths below it.',
  unreachable: 'The server cannot be reached.',
  lost: 'The connection was lost while the recording was read. Choose it again.',
};

/** What the page says about an error; undefined for one that explains itself. */
export function explanationOf(code) {
  return EXPLANATIONS[code];
}

function toPcm16(samples) {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; ++i) {
    pcm[i] = Math.max(-32768, Math.min(32767, Math.round(samples[i] * 32768)));
  }
  return pcm;
}

/**
 * Events: "ready" {model, chunkMs}, "caption" {stable, tentative, latencyMs, audioMs} of the utterance
 * that is spoken, "utterance" (utterance.js) when it has ended, "reconnecting", "final" as
 * "utterance", "failed" {code, message}. After "final" or "failed" there are no more.
 */
export class Session extends EventTarget {
  /**
   * `url` of the server (ws: or wss:), `token` or "", `rate` of the samples in Hz, `options`: further
   * fields of the start message.
   */
  constructor(url, token, rate, options = {}) {
    super();
    this.options = options;
    this.url = new URL(url);
    if (token) this.url.searchParams.set('token', token);
    this.rate = Math.round(rate);
    this.kept = []; // Int16Array packets that may have to be sent again
    this.keptBegin = 0; // index of their first sample
    this.numSamples = 0; // from the source, so far
    this.snapshot = ''; // token of the latest snapshot
    this.stable = ''; // of the utterance that is spoken
    this.numUtterances = 0; // that have ended
    this.isFinished = false; // the source has ended
    this.isOver = false;
    this.wasReady = false;
    this.tries = 0; // since numProcessed grew
    this.numProcessed = 0; // samples covered by a partial or a snapshot so far
    this.hasFailedHere = false; // "stream_failed" since numProcessed grew
    this.connect();
  }

  /** `samples`: Float32Array, mono, in [-1, 1]. Ignored after finish. */
  send(samples) {
    if (this.isOver || this.isFinished) return;
    const pcm = toPcm16(samples);
    this.kept.push(pcm);
    this.numSamples += pcm.length;
    if (this.isReady) this.socket.send(pcm);
    this.forget(this.numSamples - MAX_KEPT_SECONDS * this.rate);
  }

  /** Resolves when the server can take more. */
  async hasRoom() {
    while (!this.isOver && (!this.isReady || this.socket.bufferedAmount > MAX_BUFFERED_BYTES)) {
      await new Promise((resolve) => { setTimeout(resolve, ROOM_POLL_MS); });
    }
  }

  /** The audio is complete; "final" follows. */
  finish() {
    this.isFinished = true;
    if (this.isReady) this.sendMessage({type: 'finish'});
  }

  /** Ends the stream without further events. */
  cancel() {
    this.isOver = true;
    this.socket.close();
  }

  connect() {
    const socket = this.openSocket();
    this.socket = socket;
    this.isReady = false;
    this.refusal = null; // the server's last error
    socket.onopen = () => this.start();
    socket.onmessage = ({data}) => this.onMessage(JSON.parse(data));
    socket.onclose = () => this.onClose(socket);
  }

  openSocket() {
    const socket = new WebSocket(this.url);
    socket.binaryType = 'arraybuffer';
    return socket;
  }

  sendMessage(message) {
    this.socket.send(JSON.stringify(message));
  }

  start() {
    if (this.snapshot) {
      this.sendMessage({type: 'resume', version: VERSION, token: this.snapshot, encoding: 'pcm16',
        utterances: this.numUtterances});
    } else {
      // Beam search is more accurate and shows tentative words.
      this.sendMessage({type: 'start', version: VERSION, sample_rate: this.rate, encoding: 'pcm16',
        search: 'beam', resume: true, ...this.options});
    }
  }

  onMessage(message) {
    if (this.isOver) return;
    switch (message.type) {
      case 'ready': return this.sendKept(message, 0);
      case 'resumed':
        this.numUtterances = Math.max(this.numUtterances, message.utterances ?? 0);
        return this.sendKept(message, message.samples);
      case 'partial': return this.onPartial(message);
      case 'snapshot':
        this.countProgress(message.samples);
        this.snapshot = message.token;
        return this.forget(message.samples);
      case 'utterance': return this.onUtterance(message);
      case 'final': return this.end('final', utteranceOf(message));
      case 'error':
        this.refusal = message;
        if (message.code.startsWith('snapshot_')) this.snapshot = '';
    }
  }

  /** The server is ready for the samples from `begin` on: sends those that are kept. */
  sendKept(message, begin) {
    this.isReady = true;
    if (begin < this.keptBegin) {
      return this.end('failed', {code: 'lost',
        message: 'The connection was lost for too long to go on.'});
    }
    const frames = message.chunk_size + Math.max(0, message.right_context);
    const chunkMs = message.chunk_size < 0 ? -1 : frames * message.frame_ms;
    this.emit('ready', {model: message.model, chunkMs});
    this.wasReady = true;
    let sample = this.keptBegin;
    for (const pcm of this.kept) {
      if (sample + pcm.length > begin) {
        this.socket.send(pcm.subarray(Math.max(0, begin - sample)));
      }
      sample += pcm.length;
    }
    if (this.isFinished) this.sendMessage({type: 'finish'});
  }

  /** Resets the retry limits when the server gets further in the audio than before. */
  countProgress(numSamples) {
    if (numSamples <= this.numProcessed) return;
    this.numProcessed = numSamples;
    this.tries = 0;
    this.hasFailedHere = false;
  }

  onUtterance(message) {
    if (message.index < this.numUtterances) return; // of a stream that began anew
    this.numUtterances = message.index + 1;
    this.stable = '';
    this.emit('utterance', utteranceOf(message));
  }

  onPartial(message) {
    if (message.utterance < this.numUtterances) return;
    this.countProgress(message.audio_ms * this.rate / 1000);
    // Offsets count Unicode characters, of which some take two elements of a JavaScript string.
    const characters = Array.from(this.stable);
    this.stable = characters.slice(0, message.stable_offset).join('') + message.stable_text;
    this.emit('caption', {
      stable: this.stable,
      tentative: message.tentative_text,
      beginsWord: message.begins_word,
      latencyMs: message.latency_ms,
      audioMs: message.audio_ms,
    });
  }

  /** Drops packets that end before `sample`. */
  forget(sample) {
    while (this.kept.length > 0 && this.keptBegin + this.kept[0].length <= sample) {
      this.keptBegin += this.kept.shift().length;
    }
  }

  async onClose(socket) {
    if (this.isOver || socket !== this.socket) return;
    this.isReady = false;
    // Browsers hide why an upgrade was refused. A plain request is refused for the same reason.
    const refusal = this.refusal ?? await this.fetchRefusal();
    if (this.isOver) return;
    const isFailure = refusal?.code === 'stream_failed';
    const mayPass = this.wasReady && (!refusal || TRANSIENT.has(refusal.code)) &&
      !(isFailure && this.hasFailedHere);
    this.hasFailedHere ||= isFailure;
    if (!mayPass || ++this.tries > MAX_TRIES) return this.fail(refusal);
    this.emit('reconnecting', {});
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.tries - 1));
    setTimeout(() => { if (!this.isOver) this.connect(); }, wait * (0.5 + Math.random() / 2));
  }

  /** {code} of the server's refusal and, of some, {message}; null when it does not answer. */
  async fetchRefusal() {
    try {
      const ready = await fetch('readyz');
      if (ready.status === 404) return {code: 'not_found'};
      if (ready.status === 503) return {code: (await ready.text()).trim()};
      const url = new URL('v1/recognize', location.href);
      url.search = this.url.search;
      const answer = await fetch(url, {method: 'POST', body: ''});
      if (answer.status === 401) return {code: 'unauthorized'};
      if (answer.status === 403) return (await answer.json()).error;
      return {code: 'refused'};
    } catch {
      return null;
    }
  }

  fail(refusal) {
    const code = refusal?.code ?? 'unreachable';
    const message = EXPLANATIONS[code] ?? (this.wasReady ?
      `The server ended the stream: ${refusal.message}.` :
      `The server refused the stream: ${refusal.message}.`);
    this.end('failed', {code, message});
  }

  end(name, detail) {
    this.isOver = true;
    this.kept = [];
    this.socket.close();
    this.emit(name, detail);
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, {detail}));
  }
}

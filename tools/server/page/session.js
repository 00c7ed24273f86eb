// One stream of speech in the protocol of docs/protocol.md, over as many connections as it takes.

const VERSION = 1;
const MAX_BUFFERED_BYTES = 1 << 18; // on their way to the server, for sources that can wait
const ROOM_POLL_MS = 50;
const FIRST_WAIT_MS = 250; // before connecting again; doubled each time
const LONGEST_WAIT_MS = 4000;
const MAX_TRIES = 8; // in a row without getting further in the audio
const MAX_KEPT_SECONDS = 120; // audio that is kept to be sent again

/** Errors that may be gone after a while, or at another server behind the same address. */
const PASSING = new Set(['full', 'address_full', 'draining', 'refused', 'internal',
  'stream_failed', 'snapshot_unknown', 'snapshot_invalid', 'store_unavailable']);

const PLAIN_WORDS = {
  full: 'The server is full. Try again in a moment.',
  address_full: 'Too many streams come from this network. End one, or try again in a moment.',
  draining: 'The server is shutting down. Try again in a moment.',
  store_unavailable: 'The server cannot reach what it knows of this stream. Start again.',
  unauthorized: 'The server asks for an access token.',
  idle_timeout: 'The server heard nothing for too long and ended the stream.',
  time_limit: 'The stream reached the longest time that the server allows.',
  refused: 'The server does not take another stream from here. Try again in a moment.',
  unreachable: 'The server cannot be reached.',
};

function toPcm16(samples) {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; ++i) {
    pcm[i] = Math.max(-32768, Math.min(32767, Math.round(samples[i] * 32768)));
  }
  return pcm;
}

/**
 * Events: "ready" {model, chunkMs}, "caption" {stable, tentative, latencyMs, audioMs}, "reconnecting",
 * "final" {text}, "failed" {code, message}. After "final" or "failed" there are no more.
 */
export class Session extends EventTarget {
  /** `url` of the server (ws: or wss:), `token` or "", `rate` of the samples in Hz. */
  constructor(url, token, rate) {
    super();
    this.url = new URL(url);
    if (token) this.url.searchParams.set('token', token);
    this.rate = Math.round(rate);
    this.kept = []; // Int16Array packets that a server may have to be sent again
    this.keptBegin = 0; // sample with which they begin
    this.numSamples = 0; // from the source, so far
    this.snapshot = ''; // token of the newest one
    this.stable = '';
    this.isFinished = false; // the source has ended
    this.isOver = false;
    this.wasReady = false;
    this.tries = 0; // since numHeard grew
    this.numHeard = 0; // samples up to which there was a partial or a snapshot, ever
    this.hasFailedHere = false; // "stream_failed" since then
    this.connect();
  }

  /** Float32Array of mono samples in [-1, 1]. After finish they are not heard. */
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

  /** No more audio: the final text follows. */
  finish() {
    this.isFinished = true;
    if (this.isReady) this.say({type: 'finish'});
  }

  /** Ends it without a final text, and without events. */
  cancel() {
    this.isOver = true;
    this.socket.close();
  }

  connect() {
    const socket = new WebSocket(this.url);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.isReady = false;
    this.refusal = null; // the server's last error
    socket.onopen = () => this.hello();
    socket.onmessage = ({data}) => this.hear(JSON.parse(data));
    socket.onclose = () => this.onClose(socket);
  }

  say(message) {
    this.socket.send(JSON.stringify(message));
  }

  hello() {
    if (this.snapshot) {
      this.say({type: 'resume', version: VERSION, token: this.snapshot, encoding: 'pcm16',
        tokens: false});
    } else {
      // Beam search reads better, and shows words before it has settled on them.
      this.say({type: 'start', version: VERSION, sample_rate: this.rate, encoding: 'pcm16',
        search: 'beam', resume: true, tokens: false});
    }
  }

  hear(message) {
    if (this.isOver) return;
    switch (message.type) {
      case 'ready': return this.goOn(message, 0);
      case 'resumed': return this.goOn(message, message.samples);
      case 'partial': return this.onPartial(message);
      case 'snapshot':
        this.countProgress(message.samples);
        this.snapshot = message.token;
        return this.forget(message.samples);
      case 'final': return this.end('final', {text: message.text});
      case 'error':
        this.refusal = message;
        if (message.code.startsWith('snapshot_')) this.snapshot = '';
    }
  }

  /** Sends what the server does not have, from sample `begin` on. */
  goOn(message, begin) {
    this.isReady = true;
    if (begin < this.keptBegin) {
      return this.end('failed', {code: 'lost',
        message: 'The connection was lost for too long to go on.'});
    }
    this.emit('ready', {model: message.model, chunkMs: message.chunk_size * message.frame_ms});
    this.wasReady = true;
    let sample = this.keptBegin;
    for (const pcm of this.kept) {
      if (sample + pcm.length > begin) {
        this.socket.send(pcm.subarray(Math.max(0, begin - sample)));
      }
      sample += pcm.length;
    }
    if (this.isFinished) this.say({type: 'finish'});
  }

  /** A server that says hello and fails each time, or at the same place, is no better than none. */
  countProgress(numSamples) {
    if (numSamples <= this.numHeard) return;
    this.numHeard = numSamples;
    this.tries = 0;
    this.hasFailedHere = false;
  }

  onPartial(message) {
    this.countProgress(message.audio_ms * this.rate / 1000);
    // Offsets count characters, of which JavaScript's strings may need two units.
    const characters = Array.from(this.stable);
    this.stable = characters.slice(0, message.stable_offset).join('') + message.stable_text;
    this.emit('caption', {
      stable: this.stable,
      tentative: message.tentative_text,
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
    // Why an upgrade was refused, browsers do not tell; a plain request is refused for the same reason.
    const refusal = this.refusal ?? await this.askWhy();
    if (this.isOver) return;
    const isFailure = refusal?.code === 'stream_failed';
    const mayPass = this.wasReady && (!refusal || PASSING.has(refusal.code)) &&
      !(isFailure && this.hasFailedHere);
    this.hasFailedHere ||= isFailure;
    if (!mayPass || ++this.tries > MAX_TRIES) return this.fail(refusal);
    this.emit('reconnecting', {});
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.tries - 1));
    setTimeout(() => { if (!this.isOver) this.connect(); }, wait * (0.5 + Math.random() / 2));
  }

  /** {code} of the server's refusal, or null when it does not answer. */
  async askWhy() {
    try {
      const ready = await fetch('/readyz');
      if (ready.status === 503) return {code: (await ready.text()).trim()};
      const url = new URL('/v1/recognize', location.href);
      url.search = this.url.search;
      const answer = await fetch(url, {method: 'POST', body: ''});
      return {code: answer.status === 401 ? 'unauthorized' : 'refused'};
    } catch {
      return null;
    }
  }

  fail(refusal) {
    const code = refusal?.code ?? 'unreachable';
    const message = PLAIN_WORDS[code] ?? `The server ended the stream: ${refusal.message}.`;
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

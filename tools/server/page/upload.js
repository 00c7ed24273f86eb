// A recording that the server decodes from its file (POST v1/recognize, docs/protocol.md).
import {explanationOf} from './session.js';
import {utteranceOf} from './utterance.js';

/**
 * Has the events of a Session (session.js), without "reconnecting", and "sending" {share} until the
 * file has arrived. "ready" has also {durationMs}, undefined if the file does not tell it. "failed"
 * has also {status}: that of HTTP, 0 for none.
 */
export class Upload extends EventTarget {
  /** `url` of v1/recognize, `token` or "", `options`: further fields of the form. */
  constructor(url, token, file, options = {}) {
    super();
    this.fileName = file.name;
    this.stable = ''; // of the utterance that is spoken
    this.numRead = 0; // characters of the reply
    this.hasBegun = false;
    this.isOver = false;
    const form = new FormData();
    for (const [name, value] of Object.entries({stream: true, search: 'beam', ...options})) {
      form.append(name, value);
    }
    form.append('file', file);
    this.request = new XMLHttpRequest();
    this.request.open('POST', url);
    if (token) this.request.setRequestHeader('Authorization', `Bearer ${token}`);
    this.request.upload.onprogress = ({loaded, total}) => {
      this.emit('sending', {share: total > 0 ? loaded / total : 0});
    };
    this.request.onprogress = () => this.read();
    this.request.onload = () => this.onEnd();
    this.request.onerror = () => this.fail({code: this.hasBegun ? 'lost' : 'unreachable'});
    this.request.send(form);
  }

  /** Ends the recording here: "stopped" follows. */
  finish() {
    if (this.isOver) return;
    this.cancel();
    this.emit('stopped', {});
  }

  /** Ends without further events. */
  cancel() {
    this.isOver = true;
    this.request.abort();
  }

  /** Takes the events that have come (HTML standard, server-sent events). */
  read() {
    if (this.request.status !== 200) return;
    const text = this.request.responseText;
    for (;;) {
      const end = text.indexOf('\n\n', this.numRead);
      if (end < 0 || this.isOver) return;
      const event = text.slice(this.numRead, end);
      this.numRead = end + 2;
      if (event.startsWith('data: ')) this.onMessage(JSON.parse(event.slice(6)));
    }
  }

  onMessage(message) {
    if (message.error) return this.fail(message.error);
    switch (message.type) {
      case 'begin': return this.onBegin(message);
      case 'progress':
        this.stable += message.stable_text;
        return this.emit('caption', {stable: this.stable, tentative: message.tentative_text,
          beginsWord: message.begins_word, audioMs: message.audio_ms});
      case 'utterance':
        this.stable = '';
        return this.emit('utterance', utteranceOf(message));
      case 'final':
        this.isOver = true;
        return this.emit('final', utteranceOf(message));
    }
  }

  onBegin({model, chunk_size: chunkSize, right_context: rightContext, frame_ms: frameMs,
    duration_ms: durationMs}) {
    this.hasBegun = true;
    const chunkMs = chunkSize < 0 ? -1 : (chunkSize + Math.max(0, rightContext)) * frameMs;
    this.emit('ready', {model, chunkMs, durationMs});
  }

  onEnd() {
    this.read();
    if (this.isOver) return;
    if (this.request.status === 200) return this.fail({code: 'lost'});
    let error = {};
    try {
      ({error} = JSON.parse(this.request.responseText));
    } catch {
      // Not the server's reply, but that of a proxy.
    }
    this.fail({code: this.request.status === 404 ? 'not_found' : 'refused', ...error});
  }

  fail({code, message}) {
    if (this.isOver) return;
    this.isOver = true;
    this.emit('failed', {code, status: this.request.status,
      message: explanationOf(code) ?? `${this.fileName}: ${message}.`});
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, {detail}));
  }
}

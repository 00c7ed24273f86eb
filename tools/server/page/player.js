// Plays a recording and says where it is.

export class Player {
  /**
   * `audio`: the element that plays; `onTime(milliseconds)` is called for every frame of the screen
   * while it plays, and when it has moved.
   */
  constructor(audio, onTime) {
    this.audio = audio;
    this.onTime = onTime;
    this.waiting = []; // {seconds, resolve} of reached()
    this.isRefused = false; // by the browser, or there is nothing to play
    this.frame = 0; // of the screen, the next that is followed
    audio.addEventListener('play', () => this.follow());
    for (const name of ['timeupdate', 'seeked', 'ended']) {
      audio.addEventListener(name, () => this.tell());
    }
    audio.addEventListener('error', () => this.refuse());
  }

  /** Shows the recording, at its beginning. */
  open(file) {
    this.close();
    this.isRefused = false;
    this.audio.src = URL.createObjectURL(file);
  }

  /** Forgets the recording. */
  close() {
    this.refuse();
    if (!this.audio.src) return;
    this.audio.pause();
    URL.revokeObjectURL(this.audio.src);
    this.audio.removeAttribute('src');
    this.audio.load(); // frees the recording
  }

  /** Of the recording; NaN while it is unknown. */
  get durationMs() {
    return this.audio.duration * 1000;
  }

  /** Browsers refuse when nobody has clicked or pressed a key on the page, as after a drop. */
  play() {
    this.audio.play().catch((error) => {
      if (error.name !== 'AbortError') this.refuse(); // AbortError: paused or closed
    });
  }

  pause() {
    this.audio.pause();
  }

  seek(milliseconds) {
    this.audio.currentTime = milliseconds / 1000;
    this.play();
  }

  /** Resolves when it has been played up to `seconds`, at its end, or when it cannot be played. */
  reached(seconds) {
    return new Promise((resolve) => {
      this.waiting.push({seconds, resolve});
      this.tell();
    });
  }

  refuse() {
    this.isRefused = true;
    this.tell();
  }

  follow() {
    cancelAnimationFrame(this.frame);
    this.tell();
    if (!this.audio.paused) this.frame = requestAnimationFrame(() => this.follow());
  }

  tell() {
    const {currentTime, ended} = this.audio;
    const isDue = ({seconds}) => this.isRefused || ended || currentTime >= seconds;
    for (const {resolve} of this.waiting.filter(isDue)) resolve();
    this.waiting = this.waiting.filter((wait) => !isDue(wait));
    // Rounded, because a time in seconds may be a little before the word: 8.04 * 1000 < 8040.
    if (this.audio.src) this.onTime(Math.round(currentTime * 1000));
  }
}

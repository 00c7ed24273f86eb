// The level of the last seconds as bars, newest at the right.

const BAR_WIDTH = 3; // CSS pixels, as is the gap
const BAR_GAP = 3;
const FLOOR_DB = -50; // shown as silence
const ANNOUNCED_EVERY = 12; // levels: twice a second or so

export class LevelMeter {
  /** `element` gives the value to assistive technology; `canvas` draws it. */
  constructor(element, canvas) {
    this.element = element;
    this.canvas = canvas;
    this.levels = []; // 0 to 1, newest last
    this.numAdded = 0;
    this.isDrawn = true;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  /** `peak` of a packet, 0 to 1. */
  add(peak) {
    const decibels = 20 * Math.log10(Math.max(peak, 1e-6));
    const level = Math.max(0, Math.min(1, 1 - decibels / FLOOR_DB));
    this.levels.push(level);
    if (this.levels.length > 1000) this.levels.splice(0, 500);
    if (this.numAdded++ % ANNOUNCED_EVERY === 0) {
      this.element.setAttribute('aria-valuenow', String(Math.round(level * 100)));
    }
    if (!this.isDrawn) return;
    this.isDrawn = false;
    requestAnimationFrame(() => this.draw());
  }

  clear() {
    this.levels = [];
    this.element.setAttribute('aria-valuenow', '0');
    this.draw();
  }

  draw() {
    this.isDrawn = true;
    const {clientWidth: width, clientHeight: height} = this.canvas;
    const ratio = window.devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    const numBars = Math.floor(width / (BAR_WIDTH + BAR_GAP));
    for (let i = 0; i < numBars; ++i) {
      const level = this.levels[this.levels.length - 1 - i];
      pen.fillStyle = style.getPropertyValue(level === undefined ? '--line' : '--accent');
      const size = Math.max(BAR_WIDTH, (level ?? 0) * height);
      pen.beginPath();
      pen.roundRect(width - (i + 1) * (BAR_WIDTH + BAR_GAP), (height - size) / 2, BAR_WIDTH, size,
        BAR_WIDTH / 2);
      pen.fill();
    }
  }
}

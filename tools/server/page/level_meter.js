// The level of the last seconds as bars, newest at the right. Where the system asks for reduced
// motion: the level now, as a row of bars that changes twice a second.

const BAR_WIDTH = 3; // CSS pixels, as is the gap
const BAR_GAP = 3;
const FLOOR_DB = -50; // shown as silence
const ANNOUNCED_EVERY = 12; // levels: twice a second or so

export class LevelMeter {
  /**
   * `element` gives the value to assistive technology, `canvas` draws it. Bars have the text colour
   * of `element`, places without a bar that of `canvas`.
   */
  constructor(element, canvas) {
    this.element = element;
    this.canvas = canvas;
    this.levels = []; // 0 to 1, newest last
    this.numAdded = 0;
    this.isDrawn = true;
    this.isStill = matchMedia('(prefers-reduced-motion: reduce)');
    this.isStill.addEventListener('change', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(canvas);
    document.addEventListener('themechange', () => this.draw());
  }

  /** `peak` of a packet, 0 to 1. */
  add(peak) {
    const decibels = 20 * Math.log10(Math.max(peak, 1e-6));
    const level = Math.max(0, Math.min(1, 1 - decibels / FLOOR_DB));
    this.levels.push(level);
    if (this.levels.length > 1000) this.levels.splice(0, 500);
    const isAnnounced = this.numAdded++ % ANNOUNCED_EVERY === 0;
    if (isAnnounced) this.element.setAttribute('aria-valuenow', String(Math.round(level * 100)));
    if (!this.isDrawn || (this.isStill.matches && !isAnnounced)) return;
    this.isDrawn = false;
    requestAnimationFrame(() => this.draw());
  }

  clear() {
    this.levels = [];
    this.element.setAttribute('aria-valuenow', '0');
    this.draw();
  }

  /** What bar `i` of `numBars`, counted from the right, shows: 0 to 1, or undefined for no level. */
  levelAt(i, numBars) {
    if (!this.isStill.matches) return this.levels.at(-1 - i);
    return numBars - i <= Math.round((this.levels.at(-1) ?? 0) * numBars) ? 0.5 : undefined;
  }

  draw() {
    this.isDrawn = true;
    const {clientWidth: width, clientHeight: height} = this.canvas;
    const ratio = window.devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const loud = getComputedStyle(this.element).color;
    const empty = getComputedStyle(this.canvas).color;
    const numBars = Math.floor(width / (BAR_WIDTH + BAR_GAP));
    for (let i = 0; i < numBars; ++i) {
      const level = this.levelAt(i, numBars);
      pen.fillStyle = level === undefined ? empty : loud;
      const size = Math.max(BAR_WIDTH, (level ?? 0) * height);
      pen.beginPath();
      pen.roundRect(width - (i + 1) * (BAR_WIDTH + BAR_GAP), (height - size) / 2, BAR_WIDTH, size,
        BAR_WIDTH / 2);
      pen.fill();
    }
  }
}

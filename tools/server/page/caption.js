// The text of a stream: a paragraph for each utterance, the last of which is still spoken.

/** `milliseconds` as "minutes:seconds". */
export function formatTime(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function makeSpan(id) {
  const span = document.createElement('span');
  span.id = id;
  span.className = 'text';
  return span;
}

export class Caption {
  /** `element` becomes the caption's. */
  constructor(element) {
    this.element = element;
    this.clear();
  }

  clear() {
    this.element.textContent = '';
    this.beginParagraph();
  }

  beginParagraph() {
    this.stable = makeSpan('stable');
    this.stable.setAttribute('aria-live', 'polite');
    this.tentative = makeSpan('tentative');
    this.tentative.title = 'May still change';
    this.paragraph = document.createElement('p');
    this.paragraph.append(this.stable, this.tentative);
    this.element.append(this.paragraph);
  }

  /** The text of the utterance that is spoken now. */
  show(stable, tentative) {
    const {element} = this;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 8;
    this.showStable(stable);
    this.tentative.textContent = tentative;
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  }

  /** Appends to the text where possible, so that screen readers read only the new words. */
  showStable(text) {
    const old = this.stable.textContent;
    if (text === old) return;
    if (text.startsWith(old)) this.stable.append(text.slice(old.length));
    else this.stable.textContent = text;
  }

  /** Nothing changes in the paragraph of an utterance that has ended. */
  endUtterance({text, startMs, endMs}, hasTime) {
    this.show(text, '');
    if (!text) return;
    this.stable.normalize();
    this.stable.removeAttribute('id');
    this.tentative.remove();
    if (hasTime) {
      const time = document.createElement('time');
      time.textContent = `${formatTime(startMs)} \u2013 ${formatTime(endMs)}`;
      this.paragraph.prepend(time);
    }
    this.beginParagraph();
  }

  /** The whole text, without times. */
  text() {
    const paragraphs = Array.from(this.element.children, (paragraph) =>
      Array.from(paragraph.querySelectorAll('.text'), (span) => span.textContent).join(''));
    return paragraphs.join(' ').trim();
  }
}

// The text of a stream: a paragraph for each utterance that has ended, and the one that is spoken.

import {joinTexts} from './utterance.js';

const UNSURE_BELOW = 0.7; // confidence of words that are underlined and read out as unsure

/** `milliseconds` as "minutes:seconds". */
export function formatTime(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function make(tag, className, text = '') {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Text that only screen readers read, in the page's language. */
function makeReadOut(text) {
  const element = make('span', 'read-out', text);
  element.lang = 'en';
  return element;
}

/** Fainter the less sure the model is. An unsure word is marked in other ways than by its colour. */
function makeWord({text, startMs, confidence}) {
  const word = make('span', 'word', text);
  word.dataset.startMs = startMs;
  word.title = `Confidence ${Math.round(confidence * 100)} %`;
  word.style.setProperty('--doubt', 1 - confidence);
  if (confidence < UNSURE_BELOW) {
    word.classList.add('unsure');
    word.append(makeReadOut(' (unsure)'));
  }
  return word;
}

export class Caption {
  /**
   * `scroller` contains the text: `ended` the utterances that have ended, `stable` and `tentative`
   * that of the one that is spoken.
   */
  constructor({scroller, ended, stable, tentative}) {
    Object.assign(this, {scroller, ended, stable, tentative});
    scroller.addEventListener('click', ({target}) => {
      const place = target.closest('[data-start-ms]');
      if (place) this.onSeek?.(Number(place.dataset.startMs));
    });
    this.begin(null);
  }

  /** Forgets the text. A click on a word or a time calls `onSeek(milliseconds)`, if it is not null. */
  begin(onSeek) {
    this.onSeek = onSeek;
    this.utterances = []; // that have ended and have text (utterance.js)
    this.words = []; // {startMs, element}, in order
    this.marked = null; // element
    this.ended.textContent = '';
    this.scroller.classList.toggle('playable', onSeek !== null);
    this.show('', '');
  }

  /** The text of the utterance that is spoken now, and whether it begins a word (utterance.js). */
  show(stable, tentative, beginsWord = false) {
    this.beginsWord = beginsWord;
    this.stayAtEnd(() => {
      this.stable.textContent = stable;
      this.tentative.textContent = tentative;
    });
  }

  /** The utterance that was spoken has ended. */
  endUtterance(utterance) {
    this.show('', '');
    if (!utterance.text) return;
    this.utterances.push(utterance);
    const paragraph = make('p', 'utterance');
    paragraph.append(this.makeTime(utterance));
    for (const word of utterance.words) {
      const element = makeWord(word);
      paragraph.append(word.hasSpace ? ' ' : '', element);
      this.words.push({startMs: word.startMs, element});
    }
    this.stayAtEnd(() => this.ended.append(paragraph));
  }

  makeTime({startMs, endMs}) {
    const text = `${formatTime(startMs)} \u2013 ${formatTime(endMs)}`;
    if (!this.onSeek) return make('span', 'time', text);
    const button = make('button', 'time', text);
    button.type = 'button';
    button.dataset.startMs = startMs;
    button.append(makeReadOut(' (play from here)'));
    return button;
  }

  /** Scrolls with the text, unless the reader has scrolled away from its end. */
  stayAtEnd(change) {
    const {scroller} = this;
    const isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 8;
    change();
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
  }

  /** Marks the last word that begins before or at `milliseconds`, and shows it. */
  mark(milliseconds) {
    const element = this.words.findLast(({startMs}) => startMs <= milliseconds)?.element ?? null;
    if (element === this.marked) return;
    this.marked?.classList.remove('marked');
    this.marked = element;
    if (!element) return;
    element.classList.add('marked');
    const word = element.getBoundingClientRect();
    const frame = this.scroller.getBoundingClientRect();
    if (word.top < frame.top || word.bottom > frame.bottom) {
      this.scroller.scrollTop += word.top - frame.top - frame.height / 3;
    }
  }

  /** The whole text, without times. */
  text() {
    const spoken = this.stable.textContent + this.tentative.textContent;
    return joinTexts([...this.utterances, {text: spoken, beginsWord: this.beginsWord}]);
  }
}

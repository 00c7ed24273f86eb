// Saves utterances as a file: text, SubRip (SRT) or WebVTT, as decode_wav --endpointing writes them.
import {makeCues} from './cues.js';

/** `milliseconds` as "00:00:01,234", with `sign` before the milliseconds. */
function timestamp(milliseconds, sign) {
  const all = Math.round(milliseconds);
  const field = (value, digits) => String(Math.floor(value)).padStart(digits, '0');
  return `${field(all / 3600000, 2)}:${field(all / 60000 % 60, 2)}:${field(all / 1000 % 60, 2)}` +
    sign + field(all % 1000, 3);
}

/** The time and the lines of a cue. */
function cueText({startMs, endMs, lines}, sign) {
  return `${timestamp(startMs, sign)} --> ${timestamp(endMs, sign)}\n${lines.join('\n')}\n\n`;
}

/** A line per utterance. */
function toText(utterances) {
  return utterances.map(({text}) => `${text}\n`).join('');
}

function toSrt(utterances) {
  return utterances.flatMap(makeCues).map((cue, i) => `${i + 1}\n${cueText(cue, ',')}`).join('');
}

/** https://www.w3.org/TR/webvtt1/ */
function toVtt(utterances) {
  const escaped = (line) =>
    line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cues = utterances.flatMap(makeCues)
    .map((cue) => cueText({...cue, lines: cue.lines.map(escaped)}, '.'));
  return `WEBVTT\n\n${cues.join('')}`;
}

const FORMATS = {
  txt: {write: toText, type: 'text/plain'},
  srt: {write: toSrt, type: 'application/x-subrip'},
  vtt: {write: toVtt, type: 'text/vtt'},
};

let savedUrl = ''; // of the last file; the browser may still read it when save() returns

/** Hands the browser a file `name`.`format` with the `utterances`; `format` is "txt", "srt" or "vtt". */
export function save(utterances, name, format) {
  const {write, type} = FORMATS[format];
  URL.revokeObjectURL(savedUrl);
  savedUrl = URL.createObjectURL(new Blob([write(utterances)], {type}));
  const link = document.createElement('a');
  link.href = savedUrl;
  link.download = `${name}.${format}`;
  link.click();
}

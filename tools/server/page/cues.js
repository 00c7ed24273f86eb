// Divides an utterance into captions that fit on a screen. The rules are those of decode_wav, in
// tools/decode/formats/caption_cues.h and display_width.h; test_web_page_recordings.py compares both.

const MAX_COLUMNS = 42; // of a line
const MAX_LINES = 2; // of a cue

/** Characters of Chinese, Japanese and Korean, which take two columns. */
const WIDE = new RegExp('[\\u1100-\\u115F\\u2E80-\\uA4CF\\uAC00-\\uD7A3\\uF900-\\uFAFF' +
  '\\uFE30-\\uFE6F\\uFF00-\\uFF60\\uFFE0-\\uFFE6\\u{20000}-\\u{3FFFD}]', 'u');

function displayWidth(text) {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}

/** The tokens of a word, or the word itself if one of its tokens belongs to the next word too. */
function splitWord(word, tokens) {
  const parts = tokens.filter(({text, startMs}) =>
    text && startMs >= word.startMs && startMs < word.endMs);
  if (parts.map(({text}) => text).join('') !== word.text) return [word];
  return parts.map((part, i) => ({...part, hasSpace: word.hasSpace && i === 0}));
}

/** Fills each line with `parts` as far as `columns` permit. */
function fill(parts, columns) {
  const lines = [];
  let used = 0; // columns of the last line
  for (const {text, hasSpace, startMs, endMs} of parts) {
    const added = (hasSpace ? ' ' : '') + text;
    used += displayWidth(added);
    if (lines.length === 0 || used > columns) {
      lines.push({text, startMs, endMs});
      used = displayWidth(text);
    } else {
      lines.at(-1).text += added;
      lines.at(-1).endMs = endMs;
    }
  }
  return lines;
}

/** The lines of the least width among those whose number is least. */
function balancedLines(parts) {
  let lines = fill(parts, MAX_COLUMNS);
  for (let columns = MAX_COLUMNS - 1; columns > 0; --columns) {
    const narrower = fill(parts, columns);
    if (narrower.length > lines.length) break;
    lines = narrower;
  }
  return lines;
}

/** The captions of an utterance (utterance.js): a list of {startMs, endMs, lines (texts)}. */
export function makeCues({words, tokens, startMs, endMs}) {
  const parts = words.flatMap((word) =>
    displayWidth(word.text) > MAX_COLUMNS ? splitWord(word, tokens) : [word]);
  const cues = [];
  for (const line of balancedLines(parts)) {
    if (cues.length === 0 || cues.at(-1).lines.length === MAX_LINES) {
      cues.push({startMs: line.startMs, endMs: line.endMs, lines: []});
    }
    cues.at(-1).endMs = line.endMs;
    cues.at(-1).lines.push(line.text);
  }
  if (cues.length > 0) {
    cues[0].startMs = startMs;
    cues.at(-1).endMs = endMs;
  }
  return cues;
}

// An utterance that has ended, as the page keeps it.

const BOUNDARY = /[\u2581 ]/g; // of words, in tokens

/** `words` (of a message) with their place in `text`. */
function wordsOf(text, words) {
  let position = 0; // in text
  return words.map((word) => {
    const hasSpace = text[position] === ' ';
    position += word.text.length + (hasSpace ? 1 : 0);
    return {text: word.text, hasSpace, startMs: word.start_ms, endMs: word.end_ms,
      confidence: word.confidence};
  });
}

/**
 * The best result in a message "utterance" or "final" (docs/protocol.md): {text, startMs, endMs,
 * words, tokens, beginsWord, endsWord (whether a space comes before and after the text, where it is
 * joined with others)}. Words are {text, hasSpace (before it), startMs, endMs, confidence (0 to 1)},
 * tokens {text (without spaces), startMs, endMs}.
 */
export function utteranceOf(
  {text, start_ms: startMs, end_ms: endMs, begins_word: beginsWord, ends_word: endsWord, nbest}) {
  const {words, tokens} = nbest[0] ?? {words: [], tokens: []};
  return {
    text,
    startMs,
    endMs,
    beginsWord,
    endsWord,
    words: wordsOf(text, words),
    tokens: tokens.map((token) => ({text: token.text.replace(BOUNDARY, ''),
      startMs: token.start_ms, endMs: token.end_ms})),
  };
}

/** The texts of utterances that follow each other, with a space between two only where words meet. */
export function joinTexts(utterances) {
  let joined = '';
  let atBoundary = false;
  for (const {text, beginsWord, endsWord} of utterances) {
    atBoundary ||= beginsWord;
    if (text) {
      joined += (atBoundary && joined ? ' ' : '') + text;
      atBoundary = false;
    }
    atBoundary ||= endsWord;
  }
  return joined;
}

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
 * words, tokens}. Words are {text, hasSpace (before it), startMs, endMs, confidence (0 to 1)},
 * tokens {text (without spaces), startMs, endMs}.
 */
export function utteranceOf({text, start_ms: startMs, end_ms: endMs, nbest}) {
  const {words, tokens} = nbest[0] ?? {words: [], tokens: []};
  return {
    text,
    startMs,
    endMs,
    words: wordsOf(text, words),
    tokens: tokens.map((token) => ({text: token.text.replace(BOUNDARY, ''),
      startMs: token.start_ms, endMs: token.end_ms})),
  };
}

"""Writes the committed, seeded evaluation lists under models/digits/eval.

    python3 -m models.digits.make_eval_lists --fsdd=DIR

left_out_speaker.tsv: id, words, recordings of the left-out speaker, pauses in seconds (before the
first word, between words, after the last; digital silence). Every recording is used once before any
is repeated. unseen_voices.tsv: id, words, engine, voice, rate, pitch, spoken text, for voices on
which the model was not trained (models/digits/voices.py).

fresh_left_out_speaker.tsv and fresh_unseen_voices.tsv are drawn in the same way with other seeds.
Training prints the error rates of the former two; these were not used before the end.
"""

import argparse
import random
from pathlib import Path
from typing import Dict, List

from models.digits import voices
from models.digits.recordings import LEFT_OUT_SPEAKER, recordings_of
from models.digits.units import WORDS

EVAL_DIR = Path(__file__).parent / "eval"
SEED = 7
FRESH_SEED = 2107
LEFT_OUT_STRINGS = 200
UNSEEN_STRINGS = 120


def left_out_lines(fsdd: Path, seed: int) -> List[str]:
    """Lines of left_out_speaker.tsv: strings of 1 to 8 digits."""
    rng = random.Random(seed)
    by_word: Dict[str, List[str]] = {word: [] for word in WORDS}
    for recording, word in recordings_of(fsdd, (LEFT_OUT_SPEAKER,)):
        by_word[word].append(recording)
    waiting = {word: rng.sample(ids, len(ids)) for word, ids in by_word.items()}
    lines = []
    for index in range(LEFT_OUT_STRINGS):
        words = [rng.choice(WORDS) for _ in range(1 + index % 8)]
        recordings = []
        for word in words:
            if not waiting[word]:
                waiting[word] = rng.sample(by_word[word], len(by_word[word]))
            recordings.append(waiting[word].pop())
        pauses = [rng.uniform(0.1, 0.4)] + [rng.uniform(0.05, 0.4) for _ in words[1:]]
        pauses.append(rng.uniform(0.1, 0.4))
        lines.append("\t".join((f"{LEFT_OUT_SPEAKER}-{index:03d}", " ".join(words),
                                " ".join(recordings), " ".join(f"{p:.3f}" for p in pauses))))
    return lines


def unseen_lines(seed: int) -> List[str]:
    """Lines of unseen_voices.tsv: strings of 1 to 8 digits, a third each of flite, festival and
    espeak-ng, the last with unseen variants, half of them in the unseen accent too."""
    rng = random.Random(seed + 1)
    lines = []
    for index in range(UNSEEN_STRINGS):
        words = [rng.choice(WORDS) for _ in range(rng.randint(1, 8))]
        spoken = rng.choice((" ", ", ")).join(words) + "."
        kind = index % 3
        if kind == 0:
            engine, voice = "flite", rng.choice(voices.TEST_FLITE_VOICES)
            rate, pitch = rng.uniform(0.85, 1.3), 0.0
        elif kind == 1:
            engine, voice = "festival", rng.choice(voices.TEST_FESTIVAL_VOICES)
            rate, pitch = rng.uniform(0.85, 1.3), 0.0
        else:
            accents = voices.TEST_ACCENTS if index % 2 else voices.ESPEAK_ACCENTS
            engine = "espeak"
            voice = f"{rng.choice(accents)}+{rng.choice(voices.TEST_VARIANTS)}"
            rate, pitch = float(rng.randint(110, 175)), float(rng.randint(30, 70))
        lines.append("\t".join((f"unseen-{index:03d}", " ".join(words), engine, voice,
                                f"{rate:.3f}", f"{pitch:.0f}", spoken)))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fsdd", type=Path, required=True)
    args = parser.parse_args()
    EVAL_DIR.mkdir(exist_ok=True)
    for name, lines in (("left_out_speaker", left_out_lines(args.fsdd, SEED)),
                        ("unseen_voices", unseen_lines(SEED)),
                        ("fresh_left_out_speaker", left_out_lines(args.fsdd, FRESH_SEED)),
                        ("fresh_unseen_voices", unseen_lines(FRESH_SEED))):
        (EVAL_DIR / f"{name}.tsv").write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()

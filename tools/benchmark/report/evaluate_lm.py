"""Word error rates with an n-gram language model that irstlm estimates from --text.

    python3 -m tools.benchmark.report.evaluate_lm --model=M.pt --manifest=DIR/manifest.tsv
        --text=FILE,FILE [--weights=0.1,0.3] [--bonuses=0,1] [--beam_sizes=16]
        [--chunk_size=64] [--left_context=64] [decode_wav's flags ...]

Sentences of --text that share 6 successive words with a transcript are left out. The manifest is
that of report/recordings.py. Unknown flags go to decode_wav. Needs the Debian package irstlm.

A row is one weight and bonus. The last row is not tuned on the recordings that it counts: weight
and bonus are the best ones of every second recording, and the errors are those of the others.
"""

import os
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from models.digits.score import Errors, align
from tools.benchmark.pages.programs import run_program
from tools.benchmark.report.plain_text import count_words, read_sentences
from tools.benchmark.report.recordings import (BIN, Evaluation, add_search_options, chunk_flags,
                                               make_parser, run)

ORDER = 3


def estimate(irstlm: Path, sentences: List[List[str]], folder: Path) -> Path:
    """ARPA text of a 3-gram model with Witten-Bell smoothing, without rare 3-grams."""
    with (folder / "train").open("w", encoding="utf-8") as file:
        for words in sentences:
            file.write(f"<s> {' '.join(words)} </s>\n")
    path = f"{irstlm / 'bin'}:{os.environ.get('PATH', '')}"
    options = {"cwd": folder, "env": {**os.environ, "IRSTLM": str(irstlm), "PATH": path}}
    run_program([str(irstlm / "bin" / "build-lm.sh"), "-i", "train", "-n", str(ORDER), "-o",
                 "lm.gz", "-k", "4", "-t", "stat", "-s", "witten-bell", "-p"], **options)
    run_program([str(irstlm / "bin" / "compile-lm"), "lm.gz", "--text=yes", "lm.arpa"], **options)
    return folder / "lm.arpa"


def errors_by_recording(references: Dict[str, List[str]], found: Dict[str, List[str]]
                        ) -> List[Errors]:
    return [align(words, found[key]) for key, words in references.items()]


def total(errors: List[Errors]) -> Errors:
    result = Errors()
    for part in errors:
        result.add(part)
    return result


def text_of(errors: Errors) -> str:
    return f"{errors.total()}/{errors.words} = {errors.rate():.2f} %"


def untuned(results: List[Tuple[str, List[Errors]]]) -> Errors:
    """Each half of the recordings with the row that is best for the other half."""
    errors = Errors()
    for half in 0, 1:
        best = min(results, key=lambda row: total(row[1][1 - half::2]).total())
        errors.add(total(best[1][half::2]))
    return errors


def evaluate(evaluation: Evaluation) -> None:
    """Prints the size of the model and a row for each beam size, weight and bonus."""
    args, references, folder = evaluation.args, evaluation.references, evaluation.folder
    sentences = read_sentences(map(Path, args.text.split(",")), references.values())
    counts = count_words(sentences)
    spoken = [word for words in references.values() for word in words]
    unknown = sum(word not in counts for word in spoken)
    print(f"text: {len(sentences)} sentences, {sum(counts.values())} words, {len(counts)} "
          f"different; {unknown} of {len(spoken)} words of the references are not in it",
          flush=True)
    image = folder / "lm.bin"
    run_program([str(args.compile_lm), f"--arpa={estimate(args.irstlm, sentences, folder)}",
                 f"--output={image}"])
    print(f"compiled: {image.stat().st_size} bytes", flush=True)

    for beam_size in map(int, args.beam_sizes.split(",")):
        beam = ["--search=beam", f"--beam_size={beam_size}",
                *chunk_flags(args.chunk_size, args.left_context)]
        settings = [("no language model", [])] + [
            (f"weight {weight:<4} bonus {bonus:<4}",
             [f"--language_model={image}", f"--language_model_weight={weight}",
              f"--language_model_bonus={bonus}"])
            for weight in args.weights.split(",") for bonus in args.bonuses.split(",")]
        results = []
        for name, more in settings:
            found = evaluation.decode([*beam, *more])
            results.append((name, errors_by_recording(references, found)))
            print(f"beam {beam_size:<2} {name} {text_of(total(results[-1][1]))}", flush=True)
        print(f"beam {beam_size:<2} tuned on the other half {text_of(untuned(results))}",
              flush=True)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    add_search_options(parser, beam_sizes="16")
    parser.add_argument("--irstlm", type=Path, default=Path("/usr/lib/irstlm"))
    parser.add_argument("--compile_lm", type=Path, default=BIN / "compile_lm")
    parser.add_argument("--weights", default="0.1,0.2,0.3,0.5", help="of --language_model_weight")
    parser.add_argument("--bonuses", default="0,0.5,1,1.5", help="of --language_model_bonus")
    return run("evaluate_lm", *parser.parse_known_args(arguments), evaluate)


if __name__ == "__main__":
    sys.exit(main())

"""Subtitles of recordings: subtitles.py MODEL AUDIO...

Writes a file in the format SubRip beside each recording, a.srt for a.flac, with one caption per
utterance.
"""

import pathlib
import sys

import runnel


def timestamp(milliseconds: float) -> str:
    """Hours:minutes:seconds,milliseconds."""
    seconds, thousandths = divmod(round(milliseconds), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{thousandths:03}"


def subtitles(result: runnel.Result) -> str:
    """The captions of a recording."""
    spoken = [utterance for utterance in result.utterances if utterance.text]
    captions = []
    for number, utterance in enumerate(spoken, start=1):
        times = f"{timestamp(utterance.start_ms)} --> {timestamp(utterance.end_ms)}"
        captions.append(f"{number}\n{times}\n{utterance}\n")
    return "\n".join(captions)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: subtitles.py MODEL AUDIO...")
    model = runnel.load(sys.argv[1])
    paths = [pathlib.Path(name) for name in sys.argv[2:]]
    for path, result in zip(paths, model.transcribe(paths, endpointing=True)):
        output = path.with_suffix(".srt")
        output.write_text(subtitles(result), encoding="utf-8")
        print(output)


if __name__ == "__main__":
    main()

"""The sample recordings in the form that the programs of docs/embedding.md take, with texts."""

import pathlib
from typing import Dict

import soundfile

from tool_runner import DIGITS, SAMPLES, succeed

MODEL = DIGITS / "digits.pt"


def write_recordings(folder: pathlib.Path) -> Dict[pathlib.Path, str]:
    """Writes every sample as mono 16-bit WAV. Returns the texts of decode_wav."""
    paths = []
    for sample in sorted([*SAMPLES.glob("*.flac"), *SAMPLES.glob("*.wav")]):
        audio, rate = soundfile.read(sample, dtype="int16", always_2d=True)
        paths.append(folder / f"{sample.stem}.wav")
        soundfile.write(paths[-1], audio[:, 0], rate, subtype="PCM_16")
    assert len(paths) > 1
    output = succeed("decode_wav", f"--model={MODEL}", f"--wav={','.join(map(str, paths))}")
    texts = [line.split(" ", maxsplit=1)[1] for line in output.splitlines()]
    return dict(zip(paths, texts, strict=True))

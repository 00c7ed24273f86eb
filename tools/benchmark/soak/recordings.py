"""Long recordings of spoken digits, joined from the samples of the digit model."""

import json
import pathlib
from typing import List, Tuple

import numpy as np
import soundfile

from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.programs import run_program

SAMPLES = ROOT / "models" / "digits" / "samples"
RATE_HZ = 16000
_SEED = 5
_PAUSE_S = (0.3, 0.8)


def _samples() -> List[np.ndarray]:
    """The recordings that are mono at RATE_HZ, (samples,) each."""
    return [soundfile.read(str(path), dtype="float32")[0] for path in sorted(SAMPLES.glob("*.flac"))
            if (soundfile.info(str(path)).samplerate, soundfile.info(str(path)).channels)
            == (RATE_HZ, 1)]


def write_recordings(folder: pathlib.Path, count: int, seconds: float) -> pathlib.Path:
    """Writes `count` WAV files of `seconds` each and their list, whose path is returned. Seeded."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = _samples()
    random = np.random.default_rng(_SEED)
    lines: List[str] = []
    for index in range(count):
        parts: List[np.ndarray] = []
        while sum(map(len, parts)) < seconds * RATE_HZ:
            parts.append(samples[random.integers(len(samples))])
            parts.append(np.zeros(int(random.uniform(*_PAUSE_S) * RATE_HZ), np.float32))
        audio = np.concatenate(parts)[:int(seconds * RATE_HZ)]
        path = folder / f"digits{index}.wav"
        soundfile.write(str(path), audio, RATE_HZ, subtype="PCM_16")
        lines.append(f"digits{index} {path}\n")
    wav_scp = folder / "wav.scp"
    wav_scp.write_text("".join(lines), encoding="utf-8")
    return wav_scp


def read_recordings(wav_scp: pathlib.Path) -> List[np.ndarray]:
    """The recordings of a list that write_recordings wrote, (samples,) int16 each."""
    lines = wav_scp.read_text(encoding="utf-8").splitlines()
    return [soundfile.read(line.split(" ", 1)[1], dtype="int16")[0] for line in lines]


def decode(bin_folder: pathlib.Path, model: pathlib.Path, wav_scp: pathlib.Path,
           flags: List[str]) -> Tuple[pathlib.Path, float]:
    """Decodes a list. Returns a file of 'id text' lines, and the mean number of tokens."""
    output = run_program([str(bin_folder / "decode_wav"), f"--model={model}",
                          f"--wav_scp={wav_scp}", "--format=json", *flags])
    results = [json.loads(line) for line in output.splitlines()]
    texts = wav_scp.parent / "texts"
    texts.write_text("".join(f"{result['id']} {result['text']}".rstrip() + "\n"
                             for result in results), encoding="utf-8")
    return texts, float(np.mean([len(result["nbest"][0]["tokens"]) for result in results]))

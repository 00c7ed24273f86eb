"""Calls Debian's speech synthesisers: espeak-ng, flite and festival.

A `Request` describes one utterance completely. Lists of requests can be committed, seeded, split
among processes and rendered again with the same result.
"""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Sequence, Tuple

import numpy as np
import soundfile


@dataclass(frozen=True)
class Request:
    """One utterance to synthesise.

    engine: espeak | flite | festival. voice: as the engine names it (espeak: accent+variant).
    rate: words per minute for espeak (80-450), otherwise a factor of durations (1 = the default).
    pitch: espeak 0-99 (50 = default), flite mean F0 in Hz (0 = default), festival unused.
    spoken: the text for the engine. words: the names of the digits.
    """
    engine: str
    voice: str
    rate: float
    pitch: float
    spoken: str
    words: Tuple[str, ...]


def render(request: Request) -> Tuple[np.ndarray, int]:
    """Samples (n,) float32 in [-1, 1] and the engine's own sample rate in Hz.

    Raises RuntimeError when the synthesiser fails.
    """
    if request.engine == "festival":
        return render_festival([request])[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        if request.engine == "espeak":
            command = ["espeak-ng", "-v", request.voice, "-s", str(int(request.rate)),
                       "-p", str(int(request.pitch)), "-w", str(path), request.spoken]
        elif request.engine == "flite":
            command = ["flite", "-voice", request.voice, "--setf",
                       f"duration_stretch={request.rate:.3f}"]
            if request.pitch > 0:
                command += ["--setf", f"int_f0_target_mean={request.pitch:.1f}"]
            command += ["-t", request.spoken, "-o", str(path)]
        else:
            raise ValueError(f"engine must be espeak, flite or festival, got '{request.engine}'")
        _run(command)
        samples, rate = soundfile.read(str(path), dtype="float32")
    return samples, rate


def render_festival(requests: Sequence[Request]) -> List[Tuple[np.ndarray, int]]:
    """Renders many requests in one festival process (its start takes longer than speaking)."""
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for index, request in enumerate(requests):
            path = Path(folder) / f"{index}.wav"
            lines += [f"(voice_{request.voice})",
                      f"(Parameter.set 'Duration_Stretch {request.rate:.3f})",
                      f'(utt.save.wave (utt.synth (Utterance Text "{request.spoken}"))'
                      f" \"{path}\" 'riff)"]
        script = Path(folder) / "speak.scm"
        script.write_text("\n".join(lines) + "\n")
        _run(["festival", "-b", str(script)])
        return [soundfile.read(str(Path(folder) / f"{index}.wav"), dtype="float32")
                for index in range(len(requests))]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with {done.returncode}: "
                           f"{done.stderr.decode(errors='replace').strip()}")

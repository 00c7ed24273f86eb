"""The sample recordings as samples, and the results of decode_wav for them."""

import json
import math
from typing import Any, Dict, Iterable, List

import numpy as np
from tool_runner import SAMPLES, succeed

import runnel

PATHS = sorted([*SAMPLES.glob("*.flac"), *SAMPLES.glob("*.wav")])


def samples_of(name: str, rate_hz: int = 16000) -> np.ndarray:
    """A sample recording at a rate, (n,) float32."""
    path, = SAMPLES.glob(f"{name}.*")
    return runnel.AudioSource(path, rate_hz).read()


def pieces(samples: np.ndarray, sizes: List[int]) -> List[np.ndarray]:
    """The samples in packets of the sizes, which are gone through again and again."""
    cut, begin = [], 0
    while begin < len(samples):
        size = sizes[len(cut) % len(sizes)]
        cut.append(samples[begin:begin + size])
        begin += size
    return cut


def decode_wav(paths: List[Any], *flags: str) -> List[Dict[str, Any]]:
    """The results of decode_wav as JSON, in the order of the recordings."""
    output = succeed("decode_wav", "--model=models/digits/digits.pt",
                     f"--wav={','.join(map(str, paths))}", "--format=json", *flags)
    return list(map(json.loads, output.splitlines()))


def _rounded(value: float) -> float:
    """To four decimals, half away from zero, as decode_wav rounds."""
    return math.copysign(math.floor(abs(value * 1e4) + 0.5), value) / 1e4 if value else 0.0


def as_json(hypothesis: runnel.Hypothesis) -> Dict[str, Any]:
    """A hypothesis as decode_wav writes it."""
    found = {
        "text": hypothesis.text, "score": _rounded(hypothesis.score),
        "tokens": [{"text": token.name, "id": token.id, "frame": token.frame,
                    "start_ms": _rounded(token.start_ms), "end_ms": _rounded(token.end_ms),
                    "confidence": _rounded(token.confidence)} for token in hypothesis.tokens],
        "words": [{"text": word.text, "start_ms": _rounded(word.start_ms),
                   "end_ms": _rounded(word.end_ms), "confidence": _rounded(word.confidence)}
                  for word in hypothesis.words]}
    if hypothesis.hotwords:
        found["hotwords"] = [{"phrase": match.phrase, "start_ms": _rounded(match.start_ms),
                              "end_ms": _rounded(match.end_ms)} for match in hypothesis.hotwords]
    return found


def without_latency(utterances: Iterable[runnel.Utterance]) -> List[Any]:
    """What does not depend on the clock."""
    return [(u.index, u.start_ms, u.end_ms, u.searched_ms, u.end, u.nbest) for u in utterances]


def expected_of(model: runnel.Model, name: str, **options: Any) -> List[Any]:
    """The utterances of a sample recording, without latency."""
    return without_latency(model.transcribe(samples_of(name), **options).utterances)

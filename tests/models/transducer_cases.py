"""The recorded cases of transducers and second passes, converted, for the tests here.

../shared/data/transducer_golden/README.md states what was recorded and by whose code.
"""

import functools
import pathlib
import tempfile
from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from convert_support import TOLERANCE, convert, need_shared
from torch import Tensor

from models.reference.model import ModelConfig
from models.reference.subsampling import geometry_of
from models.reference.transducer_search import Greedy

LOG_PROBS = 1e-4  # tolerance of log probabilities
SUMS = 1e-3  # tolerance of sums over an utterance


def source_of(case: str) -> Tuple[str, pathlib.Path]:
    """What models/convert.py reads of a recorded case: the family and the file or folder."""
    source = need_shared(f"transducer_golden/{case}")
    if (source / "model.nemo").exists():
        return "nemo", source / "model.nemo"
    return "wenet" if (source / "train.yaml").exists() else "icefall", source


@functools.lru_cache(maxsize=None)
def converted(case: str) -> Tuple[Any, ModelConfig, Dict[str, np.ndarray], List[str]]:
    """The module of the converted case, its architecture, the recorded arrays, and the units."""
    family, source = source_of(case)
    with tempfile.TemporaryDirectory() as folder:
        module, sections, units = convert(family, source, pathlib.Path(folder) / "model.pt")
    with np.load(need_shared(f"transducer_golden/{case}") / "expected.npz") as arrays:
        return module, ModelConfig.from_json(sections), dict(arrays), units


def features_of(arrays: Dict[str, np.ndarray]) -> Tensor:
    """The encoder's input (T, bins), normalised where the caller does that."""
    return torch.from_numpy(arrays.get("features_normalized", arrays["features"])).float()


def encode_whole(module: Any, features: Tensor, chunk_size: int, left_context: int) -> Tensor:
    """(T', d) of a whole utterance under the chunk mask."""
    with torch.no_grad():
        return module.encode(features[None], torch.tensor([features.size(0)]), chunk_size,
                             left_context)[0][0]


def encode_chunks(module: Any, config: ModelConfig, features: Tensor, chunk_size: int,
                  left_context: int) -> List[Tensor]:
    """The encoder frames of each chunk."""
    geometry = geometry_of(config.encoder.subsampling)
    total = geometry.num_encoder_frames(features.size(0))
    att, cnn = module.initial_caches()
    chunks: List[Tensor] = []
    for offset in range(0, total, chunk_size):
        begin, end = geometry.feature_range(offset, chunk_size)
        last = offset + chunk_size >= total
        chunk = features[begin:] if last else features[begin:end]
        with torch.no_grad():
            rows, att, cnn = module.encode_chunk(chunk[None], offset, last, left_context, att, cnn)
        chunks.append(rows[0])
    return chunks


def assert_close(value: Tensor, expected: np.ndarray, tolerance: float = TOLERANCE) -> None:
    torch.testing.assert_close(value.double(), torch.from_numpy(expected).double(), rtol=0,
                               atol=tolerance)


def assert_tokens(greedy: Greedy, arrays: Dict[str, np.ndarray], prefix: str) -> None:
    """Tokens and frames are the recorded ones, exactly."""
    assert [step.label for step in greedy.tokens()] == arrays[f"{prefix}_tokens"].tolist()
    assert [step.frame for step in greedy.tokens()] == arrays[f"{prefix}_frames"].tolist()


def assert_steps(greedy: Greedy, arrays: Dict[str, np.ndarray], prefix: str) -> None:
    """Tokens as above, and every evaluation of the joint is the recorded one."""
    assert_tokens(greedy, arrays, prefix)
    steps = greedy.steps
    assert [step.label for step in steps] == arrays[f"{prefix}_step_labels"].tolist()
    assert_close(torch.stack([step.log_probs for step in steps]),
                 arrays[f"{prefix}_step_log_probs"], LOG_PROBS)
    if f"{prefix}_step_frames" in arrays:
        assert [step.frame for step in steps] == arrays[f"{prefix}_step_frames"].tolist()
    if f"{prefix}_step_durations" in arrays:
        assert [step.duration for step in steps] == arrays[f"{prefix}_step_durations"].tolist()
        assert [step.advance for step in steps] == arrays[f"{prefix}_step_advance"].tolist()
        assert_close(torch.stack([step.duration_log_probs for step in steps]),
                     arrays[f"{prefix}_step_duration_log_probs"], LOG_PROBS)


def assert_nbest(nbest: List[Any], arrays: Dict[str, np.ndarray], prefix: str) -> None:
    """Token sequences in order, exactly; scores within SUMS."""
    lengths = arrays[f"{prefix}_lengths"].tolist()
    recorded = [row[:length].tolist()
                for row, length in zip(arrays[f"{prefix}_tokens"], lengths)]
    assert [list(one.tokens) for one in nbest] == recorded
    assert_close(torch.tensor([one.score for one in nbest]), arrays[f"{prefix}_scores"], SUMS)

"""What the tests of the importers share."""

import pathlib
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest
import torch
from torch import Tensor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support" / "python")]
from shared_data import need_shared  # noqa: E402,F401
from models.convert.command import main  # noqa: E402
from models.reference.archive import read_archive  # noqa: E402

TOLERANCE = 2e-5  # float32 sums in another order, in other people's code


def convert(family: str, source: pathlib.Path, output: pathlib.Path, *options: str
            ) -> Tuple[torch.jit.ScriptModule, Dict[str, Any], List[str]]:
    """Runs the command, which must succeed, and reads the archive back."""
    assert main([family, str(source), f"--output={output}", *options]) == 0
    return read_archive(str(output))


def refusal(capsys: pytest.CaptureFixture, family: str, source: pathlib.Path,
            output: pathlib.Path, *options: str) -> str:
    """The one line of a conversion that must fail and write nothing."""
    before = sorted(output.parent.iterdir())
    assert main([family, str(source), f"--output={output}", *options]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("\n") and captured.err.count("\n") == 1, captured.err
    assert sorted(output.parent.iterdir()) == before
    return captured.err


def encode(module: torch.jit.ScriptModule, features: np.ndarray, chunk_size: int = -1,
           left_context: int = -1) -> Tuple[Tensor, Tensor]:
    """Encoder frames (T', d) and CTC log probabilities (T', V) of features (T, bins)."""
    batch = torch.from_numpy(np.asarray(features, dtype=np.float32)).unsqueeze(0)
    lengths = torch.tensor([batch.size(1)])
    with torch.no_grad():
        encoded, _ = module.encode(batch, lengths, chunk_size, left_context)
        log_probs, _ = module(batch, lengths, chunk_size, left_context)
    return encoded[0], log_probs[0]


def assert_equal_values(module: torch.jit.ScriptModule, expected: Dict[str, np.ndarray]) -> None:
    """The archive's code computes the recorded values: whole, and under the chunk mask."""
    chunk_size, left_chunks = int(expected["chunk_size"]), int(expected["num_left_chunks"])
    left_context = -1 if left_chunks < 0 else left_chunks * chunk_size
    for kind, arguments in (("full", (-1, -1)), ("chunked", (chunk_size, left_context))):
        encoded, log_probs = encode(module, expected["features"], *arguments)
        for name, value in ((f"encoder_{kind}", encoded), (f"ctc_log_probs_{kind}", log_probs)):
            torch.testing.assert_close(value, torch.from_numpy(expected[name]), rtol=0,
                                       atol=TOLERANCE, msg=lambda text: f"{name}: {text}")


def normal(random: np.random.RandomState, *shape: int) -> Tensor:
    """Seeded float32 values of moderate size."""
    values = random.standard_normal(shape) * (0.2 if len(shape) == 1 else
                                              np.prod(shape[1:]) ** -0.5)
    return torch.from_numpy(values).float()

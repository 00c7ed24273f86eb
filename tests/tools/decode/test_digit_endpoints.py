"""Endpoints of the shipped model in strings of an unseen speaker, joined by 1 to 3 s of silence."""

import sys

import pytest

from shared_data import need_shared
from tool_runner import BIN, ROOT

sys.path.insert(0, str(ROOT))
from models.digits.endpointing import compare, decode, write_recordings  # noqa: E402

NUM_RECORDINGS = 60


@pytest.mark.parametrize("flags", [(), ("--precision=int8",), ("--skip_silence",)])
def test_utterances(tmp_path, flags):
    truth = write_recordings(need_shared("fsdd"), tmp_path, NUM_RECORDINGS)
    found = decode(BIN / "decode_wav", ROOT / "models" / "digits" / "digits.pt", tmp_path,
                   ["--batch_streams=8", *flags])
    report = compare(truth, found)
    assert report.share() >= 0.98
    assert report.boundaries_within(200) >= 0.95

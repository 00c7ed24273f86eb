"""The evaluation of endpoints reports results that are missing or all wrong in one line."""

import sys

import pytest

from models.digits import endpointing
from models.digits.endpointing import Joined, compare, decode, describe

TRUTH = {"a": [Joined(["one"], 1.0, 2.0), Joined(["two"], 4.0, 5.0)]}


def segment(start_ms, end_ms, text):
    return {"start_ms": start_ms, "end_ms": end_ms, "text": text}


def test_boundaries_of_recordings_with_the_right_number():
    report = compare(TRUTH, {"a": [segment(900, 2100, "one"), segment(4300, 5000, "two")]})
    assert report.share() == 1 and report.boundaries_within(200) == 0.75
    assert report.start_errors_ms == [-100, 300] and report.end_errors_ms == [100, 0]


def test_no_recording_with_the_right_number():
    report = compare(TRUTH, {"a": [segment(900, 2100, "one two")]})
    assert report.share() == 0 and report.boundaries_within(200) == 0
    assert describe("starts", report.start_errors_ms) == "starts: none"


def test_a_missing_recording():
    with pytest.raises(ValueError, match="decode_wav gave no result for a, expected 1 recordings"):
        compare(TRUTH, {})


def test_a_program_that_says_nothing(tmp_path, monkeypatch, capsys):
    with pytest.raises(RuntimeError, match="decode_wav ended with 1"):
        decode("/bin/false", "model", tmp_path, [])
    monkeypatch.setattr(endpointing, "write_recordings", lambda *_: TRUTH)
    monkeypatch.setattr(sys, "argv", ["endpointing", "--fsdd=x", f"--work_dir={tmp_path}",
                                      "--decode_wav=/bin/false"])
    assert endpointing.main() == 1
    assert capsys.readouterr().err == "endpointing: decode_wav ended with 1\n"

"""WeNet's Efficient Conformers, converted, in the programs."""

import copy
import functools
import pathlib
import sys
from typing import Dict, Tuple

import numpy as np
import pytest

from optional_parts import HAS_REFERENCE
from server_process import LONGEST, Server, speak, start
from tool_runner import ROOT, error_line, run, succeed, temporary_folder

sys.path[:0] = [str(ROOT / "tests" / "models")]
from convert_support import TOLERANCE  # noqa: E402
from test_convert_wenet import load_case, write_experiment  # noqa: E402

from models.convert.command import main as convert  # noqa: E402
from models.reference.archive import export_archive, read_archive  # noqa: E402
from models.reference.model import ModelConfig, SpeechModel  # noqa: E402

CAUSAL, SYMMETRIC = "v2_efficient_conformer_causal", "main_efficient_conformer_symmetric"


@functools.lru_cache(maxsize=None)
def converted(case: str) -> Tuple[pathlib.Path, Dict[str, np.ndarray]]:
    """A folder with model.pt and x.npy; the arrays that WeNet computed."""
    folder, arrays = temporary_folder(f"{case}-"), load_case(case)
    write_experiment(folder, arrays)
    assert convert(["wenet", str(folder), f"--output={folder / 'model.pt'}"]) == 0
    np.save(folder / "x.npy", arrays["features"].astype(np.float32))
    return folder, arrays


def encoder_frames(case: str, *flags: str) -> np.ndarray:
    folder, _ = converted(case)
    succeed("dump_encoder", f"--model={folder / 'model.pt'}", f"--features={folder / 'x.npy'}",
            *flags, f"--output={folder / 'y.npy'}")
    return np.load(folder / "y.npy")


@pytest.mark.parametrize("case", [CAUSAL, SYMMETRIC])
def test_whole_utterances_are_those_of_wenet(case):
    _, arrays = converted(case)
    found = encoder_frames(case, "--chunk_size=-1", "--left_context=-1")
    assert found.shape == arrays["encoder_full"].shape
    assert np.abs(found - arrays["encoder_full"]).max() <= TOLERANCE


def test_chunks_are_those_of_wenets_mask():
    _, arrays = converted(CAUSAL)
    chunk_size = int(arrays["chunk_size"])
    found = encoder_frames(CAUSAL, f"--chunk_size={chunk_size}",
                           f"--left_context={chunk_size * int(arrays['num_left_chunks'])}")
    assert np.abs(found - arrays["encoder_chunked"]).max() <= TOLERANCE


@pytest.mark.parametrize("flags, option", [
    (("--chunk_size=4", "--left_context=-1"), "chunk_size is 4"),
    (("--chunk_size=6", "--left_context=8"), "left_context is 8")])
def test_chunks_that_cut_a_group_are_refused(flags, option):
    folder, _ = converted(CAUSAL)
    done = run("decode_wav", f"--model={folder / 'model.pt'}", f"--features={folder / 'x.npy'}",
               *flags)
    assert f"{option}, expected a multiple of 3" in error_line(done, 2)


@pytest.mark.parametrize("left_context", [-1, 4])
def test_whole_utterances_may_be_what_a_causal_model_recommends(left_context, tmp_path):
    folder, _ = converted(CAUSAL)
    module, config, units = read_archive(str(folder / "model.pt"))
    model = SpeechModel(ModelConfig.from_json(config))
    model.load_state_dict(module.state_dict())
    config = copy.deepcopy(config)
    config["streaming"].update(chunk_size=-1, left_context=left_context)
    export_archive(model, config, units, str(tmp_path / "m.pt"))
    assert succeed("decode_wav", f"--model={tmp_path / 'm.pt'}",
                   f"--features={folder / 'x.npy'}") == succeed(
        "decode_wav", f"--model={folder / 'model.pt'}", f"--features={folder / 'x.npy'}",
        "--chunk_size=-1", "--left_context=-1")


def test_a_server_limits_the_left_context_to_whole_groups():
    """The model recommends an unlimited one."""
    folder, _ = converted(CAUSAL)
    with Server(model=folder / "model.pt") as server:
        with server.open() as socket:
            ready = start(socket)
            assert [ready["chunk_size"], ready["left_context"]] == [9, 510]
        with server.open() as socket:
            assert isinstance(speak(socket, LONGEST), str)
    with Server("--max_left_context=2", model=folder / "model.pt") as server:
        with server.open() as socket:
            assert start(socket)["left_context"] == 0


def test_caches_with_rows_of_several_sizes_are_refused(tmp_path):
    folder, _ = converted(CAUSAL)
    done = run("dump_encoder", f"--model={folder / 'model.pt'}",
               f"--features={folder / 'x.npy'}", f"--output={tmp_path / 'y.npy'}",
               f"--caches={tmp_path / 'c.npy'}")
    assert ("--caches is set, but the caches of this model have rows of several sizes"
            in error_line(done, 2))
    assert not (tmp_path / "c.npy").exists()


def test_symmetric_convolutions_stream_in_windows():
    folder, _ = converted(SYMMETRIC)
    text = succeed("decode_wav", f"--model={folder / 'model.pt'}",
                   f"--features={folder / 'x.npy'}", "--chunk_size=4", "--left_context=5",
                   "--right_context=2", "--format=json")
    assert text


@pytest.mark.skipif(not HAS_REFERENCE, reason="this build has no reference")
@pytest.mark.parametrize("case", [CAUSAL, SYMMETRIC])
def test_verify_streaming(case):
    folder, _ = converted(case)
    assert "passed" in succeed("verify_streaming", f"--model={folder / 'model.pt'}",
                               "--seconds=2", "--precision=float64")

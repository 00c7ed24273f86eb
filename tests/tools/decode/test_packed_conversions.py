"""pack_model and convert.py --store with converted models of all kinds."""

import os
import subprocess
import sys
from typing import Any, Dict

import pytest

from shared_data import need_shared
from test_rescoring import converted as converted_for_rescoring
from test_transducers import EVERY, converted, setting
from tool_runner import (BIN, ROOT, SAMPLE_LIST, SAMPLES, peak_kilobytes, succeed,
                         without_sanitizers)

sys.path[:0] = [str(ROOT / "tests" / "models")]
from nemo_files import NemoFile  # noqa: E402
from test_convert_wenet import load_case, write_experiment  # noqa: E402


def convert(*arguments: Any, path: str = "") -> subprocess.CompletedProcess:
    environment: Dict[str, str] = {**os.environ, "PATH": path or f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run([sys.executable, ROOT / "models" / "convert.py", *map(str, arguments)],
                          env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


def test_attention_without_biases(tmp_path):
    write_experiment(tmp_path, load_case("main_conformer_no_pos_biases"))
    plain, packed = tmp_path / "model.pt", tmp_path / "model.int8"
    for output, flags in (plain, []), (packed, ["--store=int8"]):
        assert convert("wenet", tmp_path, f"--output={output}", *flags).returncode == 0
    flags = [f"--wav_scp={SAMPLE_LIST}", "--format=json"]
    assert (succeed("decode_wav", f"--model={packed}", *flags)
            == succeed("decode_wav", f"--model={plain}", "--precision=int8", *flags))


@pytest.mark.parametrize("case", sorted({case for case, _ in EVERY}))
def test_transducers(case, tmp_path):
    folder, arrays = converted(case)
    packed = tmp_path / "model.int8"
    succeed("pack_model", f"--model={folder / 'model.pt'}", "--precision=int8",
            f"--output={packed}")
    flags = ["--format=json", f"--features={folder / 'features.npy'}", *setting(arrays, 0)]
    assert (succeed("decode_wav", f"--model={packed}", *flags)
            == succeed("decode_wav", f"--model={folder / 'model.pt'}", "--precision=int8", *flags))


def test_rescoring(tmp_path):
    folder, _ = converted_for_rescoring("rescore_bitransformer")
    packed = tmp_path / "model.bfloat16"
    succeed("pack_model", f"--model={folder / 'model.pt'}", "--precision=bfloat16",
            f"--output={packed}")
    flags = ["--format=json", f"--features={folder / 'features.npy'}", "--search=beam",
             "--rescoring", "--reverse_weight=0.5", "--nbest=4"]
    assert (succeed("decode_wav", f"--model={packed}", *flags)
            == succeed("decode_wav", f"--model={folder / 'model.pt'}", "--precision=bfloat16",
                       *flags))


@without_sanitizers
def test_convert_stores_packed_weights(tmp_path):
    folder, arrays = converted("hybrid_streaming")
    source = need_shared("transducer_golden/hybrid_streaming") / "model.nemo"
    output = tmp_path / "hybrid.int8"
    done = convert("nemo", source, f"--output={output}", "--store=int8")
    assert done.returncode == 0, done.stderr
    written = [line for line in done.stdout.splitlines() if line.startswith(f"{output}: written, ")]
    assert len(written) == 1 and written[0].endswith(" MB, with weights packed as int8")
    assert [path.name for path in tmp_path.iterdir()] == ["hybrid.int8"]
    flags = ["--format=json", f"--features={folder / 'features.npy'}", *setting(arrays, 0)]
    assert (succeed("decode_wav", f"--model={output}", *flags)
            == succeed("decode_wav", f"--model={folder / 'model.pt'}", "--precision=int8", *flags))


def test_the_memory_of_packing(tmp_path):
    """Each weight is freed when it is packed, as when a model loads."""
    nemo = NemoFile("conformer_offline")
    nemo.widen(20000)
    done = convert("nemo", nemo.write(tmp_path / "m.nemo"), f"--output={tmp_path / 'm.pt'}")
    assert done.returncode == 0, done.stderr
    flags = [f"--model={tmp_path / 'm.pt'}", "--precision=float32"]
    packing = 1024 * peak_kilobytes("pack_model", *flags, f"--output={tmp_path / 'm.packed'}")
    loading = 1024 * peak_kilobytes("decode_wav", *flags, f"--wav={SAMPLES / 'ked_year.flac'}")
    size = (tmp_path / "m.pt").stat().st_size
    assert size > 100e6 and packing < loading + 0.3 * size, (packing, loading, size)

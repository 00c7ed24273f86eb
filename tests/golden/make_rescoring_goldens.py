#!/usr/bin/python3
"""Writes the attention decoders that the C++ one is tested with, and WeNet's values for them.

    /usr/bin/python3 tests/golden/make_rescoring_goldens.py FOLDER

FOLDER holds the experiment folders rescore_transformer and rescore_bitransformer, each with an
expected.npz of what WeNet's own Python (v2.2.1) computes. For each of them the script writes, to
tests/golden/rescoring, NAME.json (the `attention_decoder` section of the converted model) and
NAME.pt (a TorchScript module without code: the decoder's tensors under their names in a model file,
and the expected values as `expected.*`).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Dict

import numpy as np
import torch
from torch import Tensor, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("rescore_transformer", "rescore_bitransformer")
UNUSED = ("features", "ctc_log_probs", "best_text", "beam_size", "beam_margin", "margin",
          "chunk_size", "num_left_chunks", "sos_eos")


def module_of(values: Dict[str, Tensor]) -> nn.Module:
    """Tensors as buffers under their dotted names."""
    module = nn.Module()
    inner: Dict[str, Dict[str, Tensor]] = {}
    for name, value in values.items():
        head, dot, rest = name.partition(".")
        if dot:
            inner.setdefault(head, {})[rest] = value
        else:
            module.register_buffer(name, value.contiguous().clone())
    for name, parts in inner.items():
        module.add_module(name, module_of(parts))
    return module


def expected_values(path: pathlib.Path) -> Dict[str, Tensor]:
    """The arrays that concern the decoder."""
    arrays = np.load(path)
    return {f"expected.{name}": torch.from_numpy(arrays[name]) for name in arrays.files
            if not name.endswith(UNUSED)}


def main() -> None:
    """Writes all files to --output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests/golden/rescoring")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.pt"
            subprocess.run([sys.executable, ROOT / "models/convert.py", "wenet",
                            args.folder / name, f"--output={model}"], check=True,
                           stdout=subprocess.DEVNULL)
            config = {"runnel.json": ""}
            tensors = torch.jit.load(str(model), _extra_files=config).state_dict()
        section = json.loads(config["runnel.json"])["attention_decoder"]
        values = {key: value for key, value in tensors.items()
                  if key.startswith("attention_decoder.")}
        values.update(expected_values(args.folder / name / "expected.npz"))
        (args.output / f"{name}.json").write_text(json.dumps(section, indent=1) + "\n",
                                                  encoding="utf-8")
        torch.jit.save(torch.jit.script(module_of(values)), str(args.output / f"{name}.pt"))


if __name__ == "__main__":
    main()

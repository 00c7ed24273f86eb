#!/usr/bin/python3
"""Records what ESPnet's own encoders compute with tiny random weights, for tests of the importer.

    /usr/bin/python3 tests/golden/make_espnet_goldens.py ESPNET

ESPNET is a checkout of github.com/espnet/espnet (commit 05d67a5), outside this project. Nothing of
it is needed to run the tests.

Writes tests/golden/espnet/CASE.npz: the kind of encoder and its encoder_conf as YAML, its weights
(`weight/NAME`, seeded random numbers of this script), features (T, bins) after normalisation, and
the encoder's output (T', d) of the whole utterance.
"""

import argparse
import importlib
import pathlib
import sys
from typing import Any, Dict, Tuple

import numpy as np
import torch
import yaml
from make_wenet_goldens import ABSENT, AbsentPackages, set_weights

FOLDER = pathlib.Path(__file__).resolve().parent / "espnet"
INPUT_DIM, MODEL_DIM, NUM_FRAMES = 40, 16, 91


def encoder_conf(**changes: Any) -> Dict[str, Any]:
    """What the cases share of `encoder_conf`, then their own."""
    return {"output_size": MODEL_DIM, "attention_heads": 2, "num_blocks": 2,
            "input_layer": "conv2d", "cgmlp_linear_units": 20, **changes}


CASES: Dict[str, Tuple[str, Dict[str, Any]]] = {
    "branchformer": ("branchformer", encoder_conf(
        cgmlp_conv_kernel=5, use_linear_after_conv=True, gate_activation="swish")),
    "e_branchformer": ("e_branchformer", encoder_conf(
        cgmlp_conv_kernel=7, merge_conv_kernel=5, use_ffn=True, macaron_ffn=True,
        linear_units=24)),
    "e_branchformer_legacy": ("e_branchformer", encoder_conf(
        cgmlp_conv_kernel=3, rel_pos_type="legacy", gate_activation="tanh")),
    "e_branchformer_absolute": ("e_branchformer", encoder_conf(
        cgmlp_conv_kernel=3, pos_enc_layer_type="abs_pos", attention_layer_type="selfattn",
        use_ffn=True, linear_units=24, ffn_activation_type="relu")),
}


def make(name: str) -> None:
    """Computes one case and writes the file."""
    kind, conf = CASES[name]
    module = importlib.import_module(f"espnet2.asr.encoder.{kind}_encoder")
    encoder = {"branchformer": "BranchformerEncoder", "e_branchformer": "EBranchformerEncoder"}
    model = getattr(module, encoder[kind])(INPUT_DIM, **conf).eval()
    random = np.random.RandomState(list(CASES).index(name) + 1)
    set_weights(model, random)
    features = torch.from_numpy(random.standard_normal((1, NUM_FRAMES, INPUT_DIM))).float()
    output, _, _ = model(features, torch.tensor([NUM_FRAMES]))
    recorded = {f"weight/encoder.{key}": value.numpy() for key, value in model.state_dict().items()}
    np.savez_compressed(FOLDER / f"{name}.npz", encoder=np.array(kind),
                        encoder_conf=np.array(yaml.safe_dump(conf)), features=features[0].numpy(),
                        encoder_full=output[0].numpy(), **recorded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("espnet", type=pathlib.Path, help="the checkout")
    sys.path.insert(0, str(parser.parse_args().espnet))
    sys.meta_path.append(AbsentPackages(ABSENT))
    FOLDER.mkdir(exist_ok=True)
    with torch.no_grad():
        for name in CASES:
            make(name)


if __name__ == "__main__":
    main()

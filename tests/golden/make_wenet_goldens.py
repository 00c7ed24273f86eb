#!/usr/bin/python3
"""Records what WeNet's own Python computes with tiny random models, for the tests of the importer.

    /usr/bin/python3 tests/golden/make_wenet_goldens.py WENET

WENET is a folder outside this project with one checkout of github.com/wenet-e2e/wenet per version,
named by its tag: v1.0.1, v2.2.1, v3.1.0; main is commit 0154699. Nothing of WeNet is needed to run
the tests.

Writes tests/golden/wenet/CASE.npz: the experiment's train.yaml as a string, its weights
(`weight/NAME`, seeded random numbers of this script under WeNet's names), features (T, bins), the
chunk size and number of left chunks, and the encoder's output (T', d) and CTC log probabilities
(T', V), of the whole utterance and under the chunk mask.
"""

import argparse
import importlib
import pathlib
import subprocess
import sys
from typing import Any, Dict, Tuple

import numpy as np
import torch
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support/python")]

from absent_packages import AbsentPackages  # noqa: E402

FOLDER = ROOT / "tests/golden/wenet"
ABSENT = ("typeguard", "tqdm", "librosa", "whisper", "langid", "deepspeed", "k2", "openai",
          "transformers", "sentencepiece", "tensorboardX", "jieba", "wandb", "websockets")
VOCAB_SIZE, INPUT_DIM, MODEL_DIM, NUM_FRAMES = 12, 40, 16, 151


def encoder_conf(**changes: Any) -> Dict[str, Any]:
    """What the cases share of `encoder_conf`, then their own."""
    return {"output_size": MODEL_DIM, "attention_heads": 2, "linear_units": 24, "num_blocks": 2,
            "normalize_before": True, "use_dynamic_chunk": True, **changes}


def branchformer_conf(**changes: Any) -> Dict[str, Any]:
    """The same for a Branchformer."""
    return {"output_size": MODEL_DIM, "attention_heads": 2, "cgmlp_linear_units": 20,
            "num_blocks": 2, "use_dynamic_chunk": True, **changes}


# Name: (WeNet version, encoder, decoder, encoder_conf, cmvn, chunk_size, num_left_chunks)
CASES: Dict[str, Tuple[str, str, str, Dict[str, Any], bool, int, int]] = {
    # v1: another epsilon, an unused concat_linear in every layer, plain attention.
    "v1_transformer_abs_pos": ("v1.0.1", "transformer", "transformer", encoder_conf(
        input_layer="conv2d", pos_enc_layer_type="abs_pos"), True, 4, 2),
    "v1_conformer_linear_no_macaron": ("v1.0.1", "conformer", "transformer", encoder_conf(
        input_layer="linear", pos_enc_layer_type="rel_pos", macaron_style=False, causal=True,
        cnn_module_kernel=5, cnn_module_norm="layer_norm", activation_type="relu"), True, 16, 1),
    # Post-norm, whose after_norm exists but is not used; no relative positions in the attention.
    "v2_conformer_conv2d8_post_norm": ("v2.2.1", "conformer", "bitransformer", encoder_conf(
        input_layer="conv2d8", pos_enc_layer_type="no_pos", normalize_before=False, causal=True,
        cnn_module_kernel=4, cnn_module_norm="batch_norm", activation_type="gelu"), True, 4, -1),
    "v2_conformer_symmetric": ("v2.2.1", "conformer", "transformer", encoder_conf(
        input_layer="conv2d", pos_enc_layer_type="rel_pos", causal=False, cnn_module_kernel=7,
        cnn_module_norm="batch_norm", activation_type="swish"), False, -1, -1),
    "v2_transformer_rel_pos_conv2d6": ("v2.2.1", "transformer", "bitransformer", encoder_conf(
        input_layer="conv2d6", pos_enc_layer_type="rel_pos"), True, 3, 1),
    # After v3.1: no positions, but an attention whose bias u remains; no biases; its own epsilons.
    "main_conformer_no_pos_biases": ("main", "conformer", "transformer", encoder_conf(
        input_layer="conv2d6", pos_enc_layer_type="no_pos", causal=True, cnn_module_kernel=3,
        cnn_module_norm="layer_norm", key_bias=False, conv_bias=False, mlp_bias=False,
        norm_eps=1e-3, conv_norm_eps=1e-2), True, 5, 1),
    "v3_conformer_shaw": ("v3.1.0", "conformer", "transformer", encoder_conf(
        input_layer="linear", pos_enc_layer_type="rel_pos", causal=True, cnn_module_kernel=3,
        selfattention_layer_type="shaw_rel_selfattn", query_bias=False), True, 20, 2),
    "v3_conformer_rel_pos": ("v3.1.0", "conformer", "bitransformer", encoder_conf(
        input_layer="conv2d", causal=True, cnn_module_kernel=8, cnn_module_norm="layer_norm"),
        True, 4, 2),
    "main_branchformer_causal": ("main", "branchformer", "transformer", branchformer_conf(
        causal=True, cgmlp_conv_kernel=6, use_linear_after_conv=True, gate_activation="tanh"),
        True, 4, 2),
    # Its causal sibling streams otherwise than its mask says: WeNet caches one convolution of two.
    "main_e_branchformer_symmetric": ("main", "e_branchformer", "transformer", branchformer_conf(
        linear_units=24, cgmlp_conv_kernel=5, merge_conv_kernel=3, activation_type="relu",
        macaron_style=False, pos_enc_layer_type="abs_pos", selfattention_layer_type="selfattn"),
        False, -1, -1),
    # Grouped attention works in layers without a stride up to v3, and only there.
    "v2_efficient_conformer_causal": ("v2.2.1", "efficientConformer", "bitransformer", {
        **encoder_conf(causal=True, cnn_module_kernel=7, cnn_module_norm="layer_norm",
                       input_layer="conv2d", num_blocks=3, use_dynamic_chunk=True),
        "efficient_conf": {"stride_layer_idx": [1], "stride": [2], "group_layer_idx": [0, 1],
                           "group_size": 3, "stride_kernel": True}}, True, 3, 2),
    "main_efficient_conformer_symmetric": ("main", "efficientConformer", "transformer", {
        **encoder_conf(cnn_module_kernel=5, cnn_module_norm="batch_norm", input_layer="conv2d2",
                       num_blocks=3, macaron_style=False, activation_type="relu"),
        "efficient_conf": {"stride_layer_idx": [0, 1], "stride": [2, 2], "group_layer_idx": [0, 1],
                           "group_size": 3, "stride_kernel": False}}, False, -1, -1),
}


def build(version: str, config: Dict[str, Any]) -> torch.nn.Module:
    """WeNet's model of a train.yaml, by WeNet."""
    if version.startswith("v1"):
        from wenet.transformer.asr_model import init_asr_model
        return init_asr_model(config)
    from wenet.utils.init_model import init_model
    if version.startswith("v2"):
        return init_model(config)
    return init_model(argparse.Namespace(), config)[0]


def train_yaml(version: str, case: Tuple[str, str, str, Dict[str, Any], bool, int, int]
               ) -> Dict[str, Any]:
    """The experiment's train.yaml as the version's trainer would write it."""
    _, encoder, decoder, conf, cmvn, _, _ = case
    config: Dict[str, Any] = {
        "encoder": encoder, "encoder_conf": conf, "decoder": decoder,
        "decoder_conf": {"attention_heads": 2, "linear_units": 16, "num_blocks": 1},
        "model_conf": {"ctc_weight": 0.3}, "input_dim": INPUT_DIM, "output_dim": VOCAB_SIZE,
    }
    if decoder == "bitransformer":
        config["decoder_conf"]["r_num_blocks"] = 1
        config["model_conf"]["reverse_weight"] = 0.3
    fbank = {"num_mel_bins": INPUT_DIM, "frame_shift": 10, "frame_length": 25, "dither": 1.0}
    if version.startswith("v1"):
        config["collate_conf"] = {"feature_extraction_conf": {
            "feature_type": "fbank", "mel_bins": INPUT_DIM, "frame_shift": 10, "frame_length": 25,
            "using_pitch": False}}
        config["dataset_conf"] = {"raw_wav": True}
    else:
        config["dataset_conf"] = {"fbank_conf": fbank, "resample_conf": {"resample_rate": 16000}}
    if version[:2] not in ("v1", "v2"):
        config.update(cmvn="global_cmvn" if cmvn else None, tokenizer="char",
                      cmvn_conf={"cmvn_file": "global_cmvn", "is_json_cmvn": True},
                      tokenizer_conf={"symbol_table_path": "units.txt"}, model="asr_model")
    else:
        config.update(cmvn_file="global_cmvn" if cmvn else None, is_json_cmvn=True)
    return config


def set_weights(model: torch.nn.Module, random: np.random.RandomState) -> None:
    """Seeded values of ours; no parameter keeps a special value such as a norm's 0 and 1."""
    for name, tensor in model.state_dict().items():
        values = torch.from_numpy(random.standard_normal(tuple(tensor.shape))).float()
        if name.endswith((".pe", "num_batches_tracked")):
            continue
        if name.endswith(("running_var", "istd")):
            tensor.copy_(0.5 + values.abs())
        elif tensor.dim() == 1:
            is_norm_weight = "norm" in name and name.endswith("weight")
            tensor.copy_(0.3 * values + (1.0 if is_norm_weight else 0.0))
        else:
            tensor.copy_(values * tensor[0].numel() ** -0.5)
            if "pos_bias" in name or "rel_k_embed" in name:
                tensor.copy_(values)


def make(wenet: pathlib.Path, name: str) -> None:
    """Builds one case with the WeNet of its version and writes the file."""
    version, _, _, _, cmvn, chunk_size, num_left_chunks = case = CASES[name]
    sys.path.insert(0, str(wenet / version))
    sys.meta_path.append(AbsentPackages(ABSENT))
    random = np.random.RandomState(list(CASES).index(name) + 1)
    config = train_yaml(version, case)
    text = yaml.safe_dump(config)
    if cmvn:  # the statistics come with the weights below
        import wenet.utils.cmvn as cmvn_module  # noqa: F401
        entry = (importlib.import_module("wenet.transformer.asr_model") if version[1] == "1"
                 else importlib.import_module("wenet.utils.init_model"))
        entry.load_cmvn = lambda *_: (np.zeros(INPUT_DIM), np.ones(INPUT_DIM))
    model = build(version, config).eval()
    set_weights(model, random)
    features = torch.from_numpy(random.standard_normal((1, NUM_FRAMES, INPUT_DIM))).float()
    lengths = torch.tensor([NUM_FRAMES])
    full, _ = model.encoder(features, lengths, -1, -1)
    # WeNet counts frames before the strides, recorded are encoder frames.
    strides = config["encoder_conf"].get("efficient_conf", {}).get("stride", [])
    rate = int(np.prod(strides)) if chunk_size > 0 else 1
    chunked, _ = model.encoder(features, lengths, chunk_size * rate, num_left_chunks)
    if chunk_size > 0:
        streamed, _ = model.encoder.forward_chunk_by_chunk(features, chunk_size * rate,
                                                           num_left_chunks)
        torch.testing.assert_close(streamed, chunked, rtol=0, atol=1e-5)
        assert (chunked - full).abs().max() > 1e-3  # else the mask would prove nothing
    recorded = {f"weight/{key}": value.numpy() for key, value in model.state_dict().items()
                if not key.endswith(".pe")}
    recorded.update(
        train_yaml=np.array(text), features=features[0].numpy(), chunk_size=np.array(chunk_size),
        num_left_chunks=np.array(num_left_chunks), encoder_full=full[0].numpy(),
        encoder_chunked=chunked[0].numpy(),
        ctc_log_probs_full=model.ctc.log_softmax(full)[0].numpy(),
        ctc_log_probs_chunked=model.ctc.log_softmax(chunked)[0].numpy())
    np.savez_compressed(FOLDER / f"{name}.npz", **recorded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("wenet", type=pathlib.Path, help="folder with the checkouts")
    parser.add_argument("--case", choices=CASES, help="only this one, in this process")
    args = parser.parse_args()
    if args.case:
        with torch.no_grad():
            make(args.wenet, args.case)
        return
    for name in CASES:  # versions of one package do not fit into one process
        subprocess.run([sys.executable, __file__, str(args.wenet), "--case", name], check=True)


if __name__ == "__main__":
    main()

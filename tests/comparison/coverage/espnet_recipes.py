"""Tiny models of ESPnet's asr1 recipes (checkout of commit 05d67a5), by ESPnet's own classes."""

import argparse
import copy
import functools
import pathlib
import re
import sys
import types
from typing import Any, Dict, List, Optional

import numpy as np
import torch
import yaml

from absent_packages import AbsentPackages
from recipe import Recipe

TOKENS = ["<blank>", "<unk>", *"abcdefghij", "<sos/eos>"]
_ABSENT = ("_k2", "asteroid_filterbanks", "configargparse", "ctc_segmentation", "editdistance",
           "einops", "espnet_tts_frontend", "fairseq", "fast_bss_eval", "filelock", "g2p_en",
           "h5py", "hubert", "humanfriendly", "hydra", "jaconv", "jamo", "k2", "kaldiio", "librosa",
           "matplotlib", "nltk", "numba", "omegaconf", "opt_einsum", "peft", "pyworld", "resampy",
           "s3prl", "sentencepiece", "soundfile", "tacotron_cleaner", "tensorboard", "tensorboardX",
           "torch_complex", "torchvision", "tqdm", "transformers", "typeguard", "underthesea",
           "wandb", "warprnnt_pytorch", "whisper")
# The default of every part that a config.yaml names.
_PARTS: Dict[str, Any] = {
    "input_size": None, "init": None, "model": "espnet", "model_conf": {}, "ctc_conf": {},
    "frontend": "default", "frontend_conf": {}, "specaug": None, "specaug_conf": {},
    "preencoder": None, "preencoder_conf": {}, "encoder": "rnn", "encoder_conf": {},
    "postencoder": None, "postencoder_conf": {}, "decoder": "rnn", "decoder_conf": {},
    "joint_net_conf": {}}
_ENCODERS = {
    "transformer": "Transformer", "conformer": "Conformer", "branchformer": "Branchformer",
    "e_branchformer": "E-Branchformer", "multiconv_conformer": "MultiConvConformer",
    "contextual_block_transformer": "contextual block Transformer",
    "contextual_block_conformer": "contextual block Conformer"}
_SIZES = {"output_size": 16, "attention_heads": 2, "linear_units": 24, "cgmlp_linear_units": 24,
          "multicgmlp_linear_units": 24, "hidden_size": 16}


def recipes(source: pathlib.Path) -> List[Recipe]:
    """Those with such an encoder, a filter bank, and no language model as a part of the model."""
    sys.path.insert(0, str(source))
    sys.meta_path.append(AbsentPackages(_ABSENT, {
        "humanfriendly": {"parse_size": lambda text: int(text.rstrip("k")) * 1000},
        # The values of the mel filters are not read by the converter.
        "librosa": {"filters": types.SimpleNamespace(
            mel=lambda *, n_fft, n_mels, **_: np.zeros((n_mels, n_fft // 2 + 1), np.float32))}}))
    found = []
    for path in sorted(source.glob("egs2/*/asr1/conf/**/train*.yaml")):
        if path.is_symlink():  # another name of a recipe
            continue
        config = yaml.safe_load(path.read_text())
        if _is_counted(config):
            config = shrunk(config, path)
            found.append(Recipe(str(path.relative_to(source)), _family(config),
                                yaml.safe_dump(config), functools.partial(write, config)))
    return found


def _is_counted(config: Dict[str, Any]) -> bool:
    return (config.get("encoder") in _ENCODERS and config.get("frontend", "default") == "default"
            and "hugging_face" not in str(config.get("postencoder"))
            and "hugging_face" not in str(config.get("decoder")))


def _family(config: Dict[str, Any]) -> str:
    name = _ENCODERS[config["encoder"]]
    if config.get("decoder") == "transducer":
        name += " transducer"
    if config["encoder"] == "conformer":
        is_latest = config["encoder_conf"].get("rel_pos_type") == "latest"
        name += ", latest positions" if is_latest else ", legacy or absolute positions"
    return name


def _option(script: str, name: str) -> Optional[str]:
    """The last value that run.sh gives to an option of asr.sh."""
    values = re.findall(rf"(?:^|\s)(?:--{name}[ =]+|{name}=)[\"']?([^\s\"'\\]*)", script,
                        re.MULTILINE)
    return next((value for value in reversed(values) if "$" not in value), None)


def shrunk(config: Dict[str, Any], path: pathlib.Path) -> Dict[str, Any]:
    """The recipe with small sizes and the options that asr.sh adds, by the corpus' run.sh."""
    config = {name: None if value == "none" else value  # as the trainer's flags have it
              for name, value in copy.deepcopy(config).items()}
    for part in ("encoder_conf", "decoder_conf"):
        sizes = config.setdefault(part, {}) or {}
        sizes.update({name: size for name, size in _SIZES.items() if name in sizes})
        config[part] = sizes
    encoder = config["encoder_conf"]
    if not encoder.get("interctc_layer_idx"):
        encoder["num_blocks"] = 2
        if isinstance(encoder.get("stochastic_depth_rate"), list):  # one for each block
            del encoder["stochastic_depth_rate"][2:]
    if "num_blocks" in config["decoder_conf"]:
        config["decoder_conf"]["num_blocks"] = 1
    if "joint_space_size" in config.get("joint_net_conf", {}):
        config["joint_net_conf"]["joint_space_size"] = 16
    corpus = next(parent for parent in path.parents if parent.name == "asr1")
    script = corpus / "run.sh"
    text = script.read_text() if script.is_file() else ""
    text = re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE)
    kind = _option(text, "feats_type") or "raw"
    if kind == "raw":
        config["frontend_conf"] = {"fs": _option(text, "fs") or "16k",
                                   **(config.get("frontend_conf") or {})}
    else:
        config["input_size"] = {"fbank_pitch": 83}.get(kind, 80)
    # asr.sh passes global_mvn on; with any other value the trainer uses its own default.
    chosen = _option(text, "feats_normalize")
    is_global = chosen in (None, "global_mvn")
    config.setdefault("normalize", "global_mvn" if is_global else "utterance_mvn")
    config.update(token_list=TOKENS, token_type=_option(text, "token_type") or "bpe")
    return config


def write(config: Dict[str, Any], folder: pathlib.Path) -> List[pathlib.Path]:
    """An experiment folder, as ESPnet's trainer leaves it."""
    from espnet2.tasks.asr import ASRTask
    config = copy.deepcopy(config)
    config.setdefault("normalize_conf", {})
    if config["normalize"] == "global_mvn":
        bins = config.get("input_size") or config["frontend_conf"].get("n_mels", 80)
        np.savez(folder / "feats_stats.npz", count=2, sum=np.arange(bins, dtype=float),
                 sum_square=np.arange(bins, dtype=float) ** 2 + 1)
        config["normalize_conf"]["stats_file"] = str(folder / "feats_stats.npz")
    parts = copy.deepcopy({**_PARTS, **config, "specaug": None, "init": None})
    model = ASRTask.build_model(argparse.Namespace(**parts))
    torch.save(model.state_dict(), folder / "valid.acc.ave.pth")
    (folder / "config.yaml").write_text(yaml.safe_dump({
        name: value for name, value in {**_PARTS, **config}.items() if name != "joint_net_conf"
        or config.get("decoder") == "transducer"}))
    return [folder]

"""Tiny models of WeNet's recipes (checkout of commit 0154699), by WeNet's own classes."""

import argparse
import copy
import functools
import json
import pathlib
import sys
from typing import Any, Callable, Dict, List

import torch
import yaml

from absent_packages import AbsentPackages
from recipe import Recipe

TOKENS = ["<blank>", "<unk>", "<sos/eos>", *"abcdefghi"]
DIM = 16
_ABSENT = ("typeguard", "tqdm", "librosa", "whisper", "langid", "deepspeed", "k2", "openai",
           "transformers", "sentencepiece", "tensorboardX", "jieba", "wandb", "websockets")
_SIZES = {"output_size": DIM, "encoder_dim": DIM, "attention_heads": 2, "linear_units": 24,
          "cgmlp_linear_units": 24, "feed_forward_expansion_factor": 2}
_ENCODERS = {"transformer": "Transformer", "conformer": "Conformer",
             "dual_conformer": "Conformer (ctl_model)", "efficientConformer": "EfficientConformer",
             "squeezeformer": "Squeezeformer", "branchformer": "Branchformer",
             "e_branchformer": "E-Branchformer"}


Writer = Callable[[Dict[str, Any], pathlib.Path], List[pathlib.Path]]


def recipes(source: pathlib.Path) -> List[Recipe]:
    """Experiment folders."""
    return recipes_of(source, write)


def recipes_of(source: pathlib.Path, writer: Writer) -> List[Recipe]:
    """All but Whisper and Paraformer, which are no encoders with CTC or a transducer."""
    sys.path.insert(0, str(source))
    sys.meta_path.append(AbsentPackages(_ABSENT))
    found = []
    for path in sorted(source.glob("examples/**/conf/*.yaml")):
        config = yaml.safe_load(path.read_text())
        if config.get("model") not in ("whisper", "paraformer"):
            config = shrunk(config)
            found.append(Recipe(str(path.relative_to(source)), _family(config),
                                yaml.safe_dump(config), functools.partial(writer, config)))
    return found


def _family(config: Dict[str, Any]) -> str:
    name = _ENCODERS[config["encoder"]]
    if config.get("model") == "transducer":
        name += " transducer"
    return name + (", dynamic chunks" if config["encoder_conf"].get("use_dynamic_chunk")
                   else ", whole utterance")


def shrunk(config: Dict[str, Any]) -> Dict[str, Any]:
    """The recipe with small sizes and the sizes that WeNet's trainer adds."""
    config = copy.deepcopy(config)
    encoder = config["encoder_conf"]
    encoder.update({name: size for name, size in _SIZES.items() if name in encoder})
    if not any("idx" in name for name in (*encoder, *encoder.get("efficient_conf", {}))):
        encoder["num_blocks"] = 2
    decoder = config["decoder_conf"]
    decoder.update(attention_heads=2, linear_units=24, num_blocks=1)
    if decoder.get("r_num_blocks"):
        decoder["r_num_blocks"] = 1
    if config.get("model") == "transducer":
        config["joint_conf"].update(enc_output_size=DIM, pred_output_size=DIM, join_dim=DIM)
        predictor = config["predictor_conf"]
        predictor.update({name: DIM for name in ("embed_size", "output_size", "hidden_size")
                          if name in predictor})
    features = config["dataset_conf"]
    mel = features.get("fbank_conf") or features["mfcc_conf"]
    config.update(input_dim=mel.get("num_ceps", mel["num_mel_bins"]), output_dim=len(TOKENS))
    return config


def build(config: Dict[str, Any], folder: pathlib.Path) -> torch.nn.Module:
    """WeNet's model, with the statistics of its features in the folder."""
    from wenet.utils.init_model import init_model
    config = copy.deepcopy(config)
    if config.get("cmvn") == "global_cmvn":
        bins, statistics = config["input_dim"], folder / "global_cmvn"
        statistics.write_text(json.dumps({"mean_stat": [float(i) for i in range(bins)],
                                          "var_stat": [float(i * i + 1) for i in range(bins)],
                                          "frame_num": 1}))
        config["cmvn_conf"] = {"cmvn_file": str(statistics), "is_json_cmvn": True}
    return init_model(argparse.Namespace(), config)[0].eval()


def write(config: Dict[str, Any], folder: pathlib.Path) -> List[pathlib.Path]:
    """An experiment folder, as WeNet's trainer leaves it."""
    torch.save(build(config, folder).state_dict(), folder / "final.pt")
    (folder / "train.yaml").write_text(yaml.safe_dump(config))
    write_units(folder / "units.txt")
    return [folder]


def write_units(path: pathlib.Path) -> None:
    """WeNet's list of tokens with their numbers."""
    path.write_text("".join(f"{token} {i}\n" for i, token in enumerate(TOKENS)))

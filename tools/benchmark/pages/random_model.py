"""The benchmark's model: an architecture as people train it, with random weights."""

import argparse
import sys
from typing import List, Optional

import torch
from torch import nn

from models.reference.archive import WORD_BOUNDARY, export_archive, fbank_section, model_config
from models.reference.config import ConformerConfig
from models.reference.conformer import ConformerCtc
from models.reference.convolution import BatchNorm, ConvolutionConfig

# WeNet's AISHELL u2++ Conformer.
AISHELL = ConformerConfig(
    input_dim=80, model_dim=256, num_layers=12, num_heads=4, feed_forward_dim=2048,
    convolution=ConvolutionConfig(kernel_size=8), vocab_size=4233)
STREAMING = {"chunk_size": 16, "left_context": 64}

# Log mel energies of 16-bit speech lie around this mean with about this deviation.
_FEATURE_MEAN, _FEATURE_STD = 12.0, 4.0
# Random logits of deviation 2.3: some units are likely and most are not, as after training.
_LOGIT_GAIN = 4.0


def random_model(config: ConformerConfig, seed: int) -> ConformerCtc:
    """A model whose activations stay near 1 in every layer, as those of trained models do.

    Matrices keep PyTorch's initial values, which preserve the scale of what they multiply; norms
    get gains and offsets that differ, so that no implementation can leave them out.
    """
    torch.manual_seed(seed)
    model = ConformerCtc(config)
    with torch.no_grad():
        if model.encoder.global_cmvn is not None:
            model.encoder.global_cmvn.mean.fill_(_FEATURE_MEAN)
            model.encoder.global_cmvn.istd.fill_(1.0 / _FEATURE_STD)
        for module in model.modules():
            if isinstance(module, (nn.LayerNorm, BatchNorm)):
                module.weight.add_(0.1 * torch.randn_like(module.weight))
                module.bias.add_(0.1 * torch.randn_like(module.bias))
        model.ctc.ctc_lo.weight.mul_(_LOGIT_GAIN)
    return model.eval()


def write_model(config: ConformerConfig, seed: int, path: str) -> None:
    """Writes the archive of a random model; unit i is the i-th ideograph from U+4E00 on."""
    ideographs = [chr(0x4E00 + i) for i in range(config.vocab_size - 2)]
    units = (["<blank>", WORD_BOUNDARY] + ideographs)[:config.vocab_size]
    sections = model_config("benchmark", config, fbank_section(num_mel_bins=config.input_dim),
                            STREAMING)
    export_archive(random_model(config, seed), sections, units, path)


def main(arguments: Optional[List[str]] = None) -> int:
    """The command line of make_benchmark_model.py."""
    parser = argparse.ArgumentParser(
        prog="make_benchmark_model.py",
        description="Writes an AISHELL-size Conformer with random weights.")
    parser.add_argument("--output", required=True, help="the archive to write")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    try:
        write_model(AISHELL, args.seed, args.output)
    except (OSError, RuntimeError) as error:  # PyTorch reports a missing folder as RuntimeError
        print(f"make_benchmark_model.py: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0

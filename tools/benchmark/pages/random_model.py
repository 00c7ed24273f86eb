"""Models of the benchmark: architectures as people train them, with random weights.

    python3 -m tools.benchmark.pages.random_model --output=model.pt [--seed=1]

writes a model of the size of WeNet's AISHELL Conformer, 33 million parameters. Its text is
meaningless; its time is that of a trained model.
"""

import argparse
import sys
from typing import List, Optional

import torch
from torch import nn

from models.reference.archive import WORD_BOUNDARY, export_archive, fbank_section, model_config
from models.reference.config import ConformerConfig
from models.reference.convolution import BatchNorm, ConvolutionConfig
from models.reference.ctc import CtcConfig
from models.reference.model import ModelConfig, SpeechModel

# WeNet's AISHELL u2++ Conformer.
AISHELL = ModelConfig(
    ConformerConfig(input_dim=80, model_dim=256, num_layers=12, num_heads=4, feed_forward_dim=2048,
                    convolution=ConvolutionConfig(kernel_size=8)),
    CtcConfig(vocab_size=4233))
SMALL = ModelConfig(  # for tests
    ConformerConfig(input_dim=80, model_dim=32, num_layers=2, num_heads=2, feed_forward_dim=64,
                    convolution=ConvolutionConfig(kernel_size=8)),
    CtcConfig(vocab_size=50))
STREAMING = {"chunk_size": 16, "left_context": 64}

# Mean and deviation, roughly, of log mel energies of 16-bit speech.
_FEATURE_MEAN, _FEATURE_STD = 12.0, 4.0
# Gives logits a deviation of 2.3: a few tokens are likely and most are not, as after training.
_LOGIT_GAIN = 4.0


def random_model(config: ModelConfig, seed: int) -> SpeechModel:
    """A model whose activations stay near 1 in every layer, as those of trained models do.

    Matrices keep PyTorch's initial values, which preserve the scale of their input. Norms get
    random gains and offsets, so that an implementation that leaves them out gives other results.
    """
    torch.manual_seed(seed)
    model = SpeechModel(config)
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


def write_model(config: ModelConfig, seed: int, path: str) -> None:
    """Writes the archive of a random model, whose tokens are ideographs from U+4E00 on."""
    ideographs = [chr(0x4E00 + i) for i in range(config.vocab_size - 2)]
    tokens = (["<blank>", WORD_BOUNDARY] + ideographs)[:config.vocab_size]
    features = fbank_section(num_mel_bins=config.encoder.input_dim)
    sections = model_config("benchmark", config, features, STREAMING)
    export_archive(random_model(config, seed), sections, tokens, path)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when the model cannot be written."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the archive to write")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    try:
        write_model(AISHELL, args.seed, args.output)
    except (OSError, RuntimeError) as error:  # PyTorch reports a missing folder as RuntimeError
        print(f"random_model: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Models of the benchmark: architectures as people train them, with random weights.

    python3 -m tools.benchmark.pages.random_model --output=model.pt [--architecture=aishell]
        [--seed=1]

aishell            WeNet's AISHELL Conformer: CTC, 33 million parameters
aishell_unshifted  the same with WeNet's rel_pos
conformer_13m      NVIDIA's stt_en_conformer_ctc_small, an offline model: CTC
fastconformer_114m NVIDIA's stt_en_fastconformer_hybrid_large_streaming_multi: CTC and RNN-T
fastconformer_600m NVIDIA's nemotron-speech-streaming-en-0.6b: RNN-T

The text of such a model is meaningless; its time and memory are those of a trained model.
"""

import argparse
import dataclasses
import sys
from typing import List, Optional

import torch
from torch import nn

from models.reference.archive import (WORD_BOUNDARY, export_archive, fbank_section,
                                      mel_spectrogram_section, model_config)
from models.reference.config import ConformerConfig
from models.reference.convolution import BatchNorm, ConvolutionConfig
from models.reference.ctc import CtcConfig
from models.reference.model import ModelConfig, SpeechModel
from models.reference.normalization import NormalizationConfig
from models.reference.positions import make_options
from models.reference.predictor import LstmPredictorConfig
from models.reference.subsampling import SubsamplingConfig
from models.reference.transducer import JointConfig, TransducerConfig

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


def _fastconformer(input_dim: int, model_dim: int, num_layers: int, channels: int = 256
                   ) -> ConformerConfig:
    """A cache-aware FastConformer as NeMo trains it."""
    return ConformerConfig(
        input_dim=input_dim, model_dim=model_dim, num_layers=num_layers, num_heads=8,
        feed_forward_dim=4 * model_dim, convolution=ConvolutionConfig(kernel_size=9),
        normalization=NormalizationConfig("none"),
        subsampling=SubsamplingConfig("dw_striding8", channels=channels, causal=True),
        position=make_options("chunk_rpe", linear_pos_bias=False, query_scaling="after_bias",
                              table_order="descending"),
        after_norm=False)


def _rnnt(num_layers: int, dim: int = 640, vocab_size: int = 1025) -> TransducerConfig:
    return TransducerConfig(
        vocab_size=vocab_size, blank_id=vocab_size - 1,
        predictor=LstmPredictorConfig(embedding_dim=dim, hidden_dim=dim, num_layers=num_layers,
                                      output_dim=None),
        joint=JointConfig(dim=dim))


def _offline(model_dim: int, num_layers: int, vocab_size: int) -> ModelConfig:
    """A Conformer as NeMo trains it on whole utterances."""
    return ModelConfig(
        ConformerConfig(
            input_dim=80, model_dim=model_dim, num_layers=num_layers, num_heads=4,
            feed_forward_dim=4 * model_dim,
            convolution=ConvolutionConfig(31, "symmetric", "batch_norm"),
            normalization=NormalizationConfig("utterance", 1e-5),
            subsampling=SubsamplingConfig("striding4", channels=model_dim, causal=False),
            position=make_options("chunk_rpe", linear_pos_bias=False, query_scaling="after_bias",
                                  table_order="descending"),
            after_norm=False),
        CtcConfig(vocab_size, vocab_size - 1))


ARCHITECTURES = {
    "aishell": AISHELL,
    "aishell_unshifted": dataclasses.replace(
        AISHELL, encoder=dataclasses.replace(AISHELL.encoder, position=make_options("unshifted"))),
    "conformer_13m": _offline(176, 16, 1025),
    "small_offline": _offline(32, 2, 50),  # for tests
    "fastconformer_114m": ModelConfig(_fastconformer(80, 512, 17), CtcConfig(1025, 1024),
                                      _rnnt(1)),
    "small_hybrid": ModelConfig(_fastconformer(80, 32, 2, channels=8), CtcConfig(50, 49),
                                _rnnt(1, dim=16, vocab_size=50)),  # for tests
    "fastconformer_600m": ModelConfig(_fastconformer(128, 1024, 24), None, _rnnt(2)),
}
FASTCONFORMER_STREAMING = {"chunk_size": 7, "left_context": 70}

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
        if model.ctc is not None:
            model.ctc.ctc_lo.weight.mul_(_LOGIT_GAIN)
    return model.eval()


def write_model(config: ModelConfig, seed: int, path: str) -> None:
    """Writes the archive of a random model, whose tokens are ideographs from U+4E00 on."""
    ideographs = [chr(0x4E00 + i) for i in range(config.vocab_size - 2)]
    tokens = ([WORD_BOUNDARY] + ideographs)[:config.vocab_size - 1]
    tokens.insert(config.blank_id, "<blank>")
    if config.encoder.subsampling.type == "dw_striding8":
        features = mel_spectrogram_section(num_mel_bins=config.encoder.input_dim)
        streaming = FASTCONFORMER_STREAMING
    else:
        features = fbank_section(num_mel_bins=config.encoder.input_dim)
        streaming = STREAMING
    if config.encoder.needs_whole_utterance():
        streaming = {"chunk_size": -1, "left_context": -1}
    sections = model_config("benchmark", config, features, streaming)
    export_archive(random_model(config, seed), sections, tokens, path)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; 1 when the model cannot be written."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the archive to write")
    parser.add_argument("--architecture", choices=tuple(ARCHITECTURES), default="aishell")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    try:
        write_model(ARCHITECTURES[args.architecture], args.seed, args.output)
    except (OSError, RuntimeError) as error:  # PyTorch reports a missing folder as RuntimeError
        print(f"random_model: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Size of the digit model, and the sections of its model file."""

from typing import Any, Dict

from models.digits.fbank import FEATURES, NUM_BINS
from models.digits.units import UNITS
from models.reference.archive import fbank_section, model_config
from models.reference.config import ConformerConfig, ConvolutionConfig
from models.reference.ctc import CtcConfig
from models.reference.model import ModelConfig
from models.reference.positions import make_options

DROPOUT = 0.1
STREAMING = {"chunk_size": 16, "left_context": 64}
# Position schemes that the recipe trains, with their options.
POSITIONS: Dict[str, Dict[str, Any]] = {
    "absolute": {},
    "chunk_rpe": {},
    "bounded_rpe": {"radius": 32},
    "relative_key_value": {"max_distance": 32},
    "unshifted": {},
    "none": {},
}


def model_of(position: str = "chunk_rpe") -> ModelConfig:
    """The architecture with one of POSITIONS.

    About 0.86 million parameters: 3.5 MB in float32; the model file may have 4 MB.
    """
    encoder = ConformerConfig(input_dim=NUM_BINS, model_dim=96, num_layers=4, num_heads=4,
                              feed_forward_dim=256, convolution=ConvolutionConfig(kernel_size=15),
                              position=make_options(position, **POSITIONS[position]))
    return ModelConfig(encoder, CtcConfig(vocab_size=len(UNITS)))


CONFIG = model_of()


def archive_config(config: ModelConfig = CONFIG) -> Dict[str, Any]:
    """The content of runnel.json."""
    return model_config("digits", config, fbank_section(**FEATURES), STREAMING)

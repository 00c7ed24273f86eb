"""The digit model's size and the sections of its archive."""

from typing import Any, Dict

from models.digits.fbank import FEATURES, NUM_BINS
from models.digits.units import UNITS
from models.reference.archive import fbank_section, model_config
from models.reference.config import ConformerConfig

# About 0.86 million parameters: 3.5 MB as float32, under the 4 MB that the archive may take.
CONFIG = ConformerConfig(input_dim=NUM_BINS, model_dim=96, num_layers=4, num_heads=4,
                         feed_forward_dim=256, conv_kernel_size=15, vocab_size=len(UNITS))
DROPOUT = 0.1
STREAMING = {"chunk_size": 16, "left_context": 64}


def archive_config() -> Dict[str, Any]:
    """The content of runnel.json."""
    return model_config("digits", CONFIG, fbank_section(**FEATURES), STREAMING)

"""The chunks that WeNet's models were trained with."""

from typing import Any, Dict, Tuple

from models.convert import efficient_conformer
from models.convert.resolved import convolution_field, streaming
from models.convert.settings import Settings


def read_streaming(config: Settings, encoder: Dict[str, Any]) -> Dict[str, Any]:
    """Chunks of 16 for a model trained with dynamic chunks, otherwise those of its training."""
    conf = config.section("encoder_conf")
    convolution = encoder[convolution_field(encoder)]
    if convolution is not None and convolution["type"] == "symmetric":
        return streaming(-1, -1)
    if conf.take("use_dynamic_chunk", False, "streaming"):
        config.assumed["streaming"] = ("WeNet's usual choice for models trained with "
                                       "use_dynamic_chunk")
        left_context = 64 if conf.take("use_dynamic_left_chunk", False) else -1
        return streaming(*_in_encoder_frames(16, left_context, encoder))
    static = conf.take("static_chunk_size", 0)
    if static <= 0:
        return streaming(-1, -1)
    return streaming(*_in_encoder_frames(static, -1, encoder))


def _in_encoder_frames(chunk_size: int, left_context: int, encoder: Dict[str, Any]
                       ) -> Tuple[int, int]:
    """Sizes in frames of the subsampling, for the encoder frames of this encoder."""
    if encoder["type"] != "efficient_conformer":
        return chunk_size, left_context
    return efficient_conformer.chunks(chunk_size, left_context, encoder["strides"],
                                      encoder["position"]["group_sizes"])

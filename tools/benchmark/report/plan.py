"""The sizes of a benchmark: the full one, and a quick one for tests."""

import dataclasses
from typing import Sequence

from models.reference.model import ModelConfig
from tools.benchmark.pages.random_model import AISHELL, SMALL, STREAMING

CHUNK_SIZE, LEFT_CONTEXT = STREAMING["chunk_size"], STREAMING["left_context"]
SEED = 1  # of the random models


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes and durations, named as the flags of bench_encoder."""

    architecture: ModelConfig
    streams: Sequence[int] = (1, 2, 4, 8, 16, 32)
    precisions: Sequence[str] = ("float32", "bfloat16", "int8")
    left_contexts: Sequence[int] = (0, 16, 32, 64, 128, 256)  # encoder frames, with CHUNK_SIZE
    chunk_sizes: Sequence[int] = (2, 4, 8, 16, 32, 64)  # with LEFT_CONTEXT
    sweep_streams: Sequence[int] = (1, 16)
    batch: int = 16  # streams per thread where only one batch size is measured
    seconds: float = 2.0  # per row of the table, and per row of its baseline
    sweep_seconds: float = 1.0
    hours: float = 10.0
    operation_seconds: float = 0.2
    search_words: int = 200_000  # of the language model
    search_ngrams: int = 10_000_000
    large_models: Sequence[str] = ("fastconformer_114m", "fastconformer_600m")
    large_chunk_sizes: Sequence[int] = (2, 7, 14)
    offline_model: str = "conformer_13m"
    onnx_batches: Sequence[int] = (1, 8)
    onnx_seconds: float = 5.0
    bulk_batches: Sequence[int] = (1, 8, 32)  # of Runnel; others have onnx_batches
    bulk_recordings: int = 64
    bulk_seconds: int = 10  # length of a recording
    bulk_rounds: int = 3


FULL = Plan(architecture=AISHELL)
QUICK = Plan(
    architecture=SMALL, streams=(1, 2), left_contexts=(0, 16, 64), chunk_sizes=(4, 8, 16),
    sweep_streams=(1, 2), batch=2, seconds=0.02, sweep_seconds=0.01, hours=0.03,
    operation_seconds=0.001, search_words=1000, search_ngrams=20_000,
    large_models=("small_hybrid",), large_chunk_sizes=(7,),
    offline_model="small_offline", onnx_batches=(1, 2), onnx_seconds=0.02,
    bulk_batches=(1, 2), bulk_recordings=4, bulk_seconds=2, bulk_rounds=1)

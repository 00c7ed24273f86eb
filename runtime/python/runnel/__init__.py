"""Runnel: streaming speech recognition with Conformer encoders, CTC and transducers.

    model = runnel.load("model.pt", precision="int8")
    print(model.transcribe("a.wav"))

    with model.stream(chunk_size=16) as stream:
        stream.accept(samples)  # NumPy, float32 in [-1, 1] or int16, any length
        print(stream.partial)
        print(*stream.finish())

docs/python.md has an example of each use. Live streams of many clients: Recognizer, AsyncStream.
"""

from runnel._runnel import (AudioSource, Hotwords, LanguageModel, LiveStream, Recognizer, Stream,
                            WordList, __version__, decode_chunks, resample)
from runnel.async_stream import AsyncStream
from runnel.converting import convert
from runnel.errors import DataError, SnapshotError
from runnel.model import Model, load
from runnel.options import ModelOptions, StreamOptions
from runnel.results import (HotwordMatch, Hypothesis, LiveUpdate, RecognizerStatus, Result,
                            StreamingConfig, Token, Utterance, Word, join_texts)

__all__ = [
    "AsyncStream", "AudioSource", "DataError", "HotwordMatch", "Hotwords", "Hypothesis",
    "LanguageModel", "LiveStream", "LiveUpdate", "Model", "ModelOptions", "Recognizer",
    "RecognizerStatus", "Result", "SnapshotError", "Stream", "StreamOptions", "StreamingConfig",
    "Token", "Utterance", "Word", "WordList", "__version__", "convert", "decode_chunks",
    "join_texts", "load", "resample"]

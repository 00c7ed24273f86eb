"""The keyword arguments of everything that opens streams."""

import os
from typing import List, Literal, Optional, Tuple, TypedDict, Union

from runnel._runnel import Hotwords, LanguageModel, WordList

Path = Union[str, os.PathLike[str]]


class StreamOptions(TypedDict, total=False):
    """Options of a stream; all are optional, and None stands for the default.

    They are those of runtime/stream.h, runtime/search_options.h and runtime/endpoint_options.h.
    Sizes are in encoder frames (Model.encoder_frame_ms each). An option that has no effect with the
    others is refused.
    """

    # default: the model's; -1: the whole utterance. Larger: more accurate, later
    chunk_size: Optional[int]
    left_context: Optional[int]  # frames before the chunk that attention uses; the model's; -1: all
    sample_rate_hz: Optional[int]  # rate of the accepted samples, 1000 to 768000; the model's
    language: Optional[str]  # one of Model.languages; the model's default
    nbest: Optional[int]  # 1; most hypotheses of an utterance: of a beam search, up to beam_size

    # greedy; beam with a word list, hotwords, a language model or rescoring
    search: Optional[Literal["greedy", "beam", "modified_beam"]]
    head: Optional[Literal["ctc", "transducer"]]  # the transducer of a model that has one
    beam_size: Optional[int]  # 8; hypotheses kept per frame
    token_beam: Optional[int]  # 20; most probable tokens considered per frame
    max_symbols: Optional[int]  # most tokens of an encoder frame, with a transducer; 0: the model's
    # 0; part of the CTC head in a label of a transducer's beam search, 0 to 1
    ctc_weight: Optional[float]
    rescoring: Optional[bool]  # False; second pass by the attention decoder of the model
    first_pass_weight: Optional[float]  # 0.5; of rescoring, 0 to 100
    reverse_weight: Optional[float]  # 0; of rescoring by the decoder from right to left, 0 to 1

    word_list: Union[Path, WordList, None]  # the only words that can be recognised
    # phrases that the search prefers
    hotwords: Union[Path, List[str], Tuple[str, ...], Hotwords, None]
    hotword_score: Optional[float]  # 0.75; bonus per character of phrases without a score
    language_model: Union[Path, LanguageModel, None]  # n-grams, whose score is added
    language_model_level: Optional[Literal["word", "token"]]  # word; what its words are
    language_model_weight: Optional[float]  # 0.3; 0 to 10
    language_model_bonus: Optional[float]  # 1.0; per word or token, natural logarithm

    endpointing: Optional[bool]  # False; utterances end by the rules below
    endpoint_silence_s: Optional[float]  # 1.2; silence after speech
    endpoint_initial_silence_s: Optional[float]  # 2.4; silence without speech
    endpoint_max_utterance_s: Optional[float]  # 20; length of an utterance
    endpoint_blank_probability: Optional[float]  # 0.8; of the blank in a silent frame
    reset_encoder: Optional[bool]  # False; the next utterance begins without left context
    skip_silence: Optional[bool]  # False; nothing is computed between utterances

    early_text_interval: Optional[int]  # 0: none; of live streams: frames between two previews
    early_text_padding: Optional[int]  # 2; frames after the audio of a preview

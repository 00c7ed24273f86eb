"""The result of an importer: the architecture in the form of a model file, weights, assumptions."""

import dataclasses
from typing import Any, Dict, Iterator, List, Optional, Tuple

from models.convert.errors import ConversionError
from models.convert.renaming import Renamed
from models.convert.token_kinds import TokenKinds, special_tokens
from models.reference.config import chunk_multiple
from models.reference.model import HEADS
from models.reference.normalization import RUNNING_TYPES, UTTERANCE_TYPES

_OF_WHOLE_UTTERANCES = {  # position schemes, and why
    "legacy_rel_pos": "count from the end of the utterance",
    "windowed_rpe": "have a window that reads frames after the chunk"}
WHOLE_UTTERANCE = {"chunk_size": -1, "left_context": -1}


@dataclasses.dataclass
class Resolved:
    """Everything that a model file needs."""

    name: str
    encoder: Dict[str, Any]  # the `encoder` section (models/README.md)
    features: Dict[str, Any]
    streaming: Dict[str, Any]  # chunk_size, left_context, only
    heads: Dict[str, Dict[str, Any]]  # the sections from `ctc` to `prompt` that are not null
    units: List[str]
    weights: Renamed
    source: str  # the file of the weights, for messages
    assumed: Dict[str, str]  # field of the model file -> reason for its assumed value
    notes: List[str] = dataclasses.field(default_factory=list)
    kinds: TokenKinds = TokenKinds()

    def special_tokens(self) -> List[Dict[str, Any]]:
        """The tokens that stand for something else than their names, except the blank."""
        blank_ids = {self.heads[name]["blank_id"] for name in ("ctc", "transducer")
                     if name in self.heads}
        languages = self.heads["prompt"]["languages"] if "prompt" in self.heads else []
        return special_tokens(self.units, self.kinds, blank_ids, languages)

    def vocabularies(self) -> List[Dict[str, Any]]:
        """The field of the model file."""
        return [{"language": language, "size": size} for language, size in self.kinds.vocabularies]

    def architecture(self) -> Dict[str, Any]:
        """The sections from `encoder` to `prompt`, null where the model has none."""
        return {"encoder": self.encoder, **{name: self.heads.get(name) for name in HEADS}}

    def fields(self) -> Iterator[str]:
        """The architecture field by field, one line each, assumptions marked."""
        sections = {**self.architecture(), "streaming": self.streaming, "features": self.features}
        for path, value in _leaves(sections, ""):
            reason = self._assumption(path)
            yield f"{path}: {_shown(value)}" + (f"  (assumed: {reason})" if reason else "")

    def lines(self) -> Iterator[str]:
        """What the model is, in a few lines, and everything that was chosen or left out."""
        tensors = self.weights.tensors.values()
        encoder, rate = self.encoder, self.features.get("sample_frequency")
        heads = ", ".join(f"{name} ({section['vocab_size']} tokens)" if "vocab_size" in section
                          else name for name, section in self.heads.items())
        yield (f"{self.source}: {len(tensors)} tensors, "
               f"{sum(tensor.numel() for tensor in tensors) / 1e6:.1f} million parameters")
        yield (f"encoder: {encoder['type']}, {encoder['num_layers']} layers of dimension "
               f"{encoder['model_dim']}; heads: {heads}")
        chunk = self.streaming["chunk_size"]
        yield (f"features: {self.features['type']} of {rate} Hz, {self.features['num_mel_bins']} "
               "filters; decoded " + ("as whole utterances" if chunk == -1 else
                                      f"in chunks of {chunk} encoder frames"))
        if self.assumed:
            yield (f"assumed, because the source does not tell ({len(self.assumed)}): "
                   f"{', '.join(self.assumed)}; --verbose says what")
        yield from self._special_lines()
        if self.weights.left_out:
            yield f"left out: {_summary(self.weights.left_out)}"
        for note in self.notes:
            yield f"note: {note}"

    def _special_lines(self) -> Iterator[str]:
        special: Dict[str, List[str]] = {}
        for token in self.special_tokens():
            special.setdefault(token["kind"], []).append(self.units[token["id"]])
        for kind, names in special.items():
            yield f"special_tokens, {kind}: {_summary(names)}"
        if self.kinds.vocabularies:
            yield "vocabularies: " + ", ".join(f"{language} ({size})"
                                               for language, size in self.kinds.vocabularies)

    def _assumption(self, path: str) -> Optional[str]:
        """The reason given for the field, or for an object that it is in."""
        while path:
            if path in self.assumed:
                return self.assumed[path]
            path = path.rpartition(".")[0]
        return None


def streaming(chunk_size: int, left_context: int,
              only: Optional[List[Dict[str, int]]] = None) -> Dict[str, Any]:
    """The fields of the `streaming` section that an importer decides."""
    return {"chunk_size": chunk_size, "left_context": left_context, "only": only}


def convolution_field(encoder: Dict[str, Any]) -> str:
    """The field of the `encoder` section that holds the type of its convolutions."""
    return "branches" if encoder["type"] == "branchformer" else "convolution"


def choose_dynamic_chunk(resolved: Resolved) -> None:
    """Makes a symmetric convolution end at the chunk, so that the model can stream."""
    name = convolution_field(resolved.encoder)
    convolution = resolved.encoder[name]
    if convolution is None or convolution["type"] != "symmetric":
        kind = "none" if convolution is None else convolution["type"]
        raise ConversionError(f"--convolution=dynamic_chunk is for models with a symmetric "
                              f"convolution, this one's is {kind}")
    _check_position(resolved, "--convolution=dynamic_chunk")
    convolution["type"] = "dynamic_chunk"
    resolved.assumed[f"encoder.{name}.type"] = "--convolution=dynamic_chunk"


def choose_running_normalization(resolved: Resolved) -> None:
    """Replaces statistics of the whole utterance by statistics of the frames so far."""
    kind = resolved.encoder["normalization"]["type"]
    if kind not in UTTERANCE_TYPES:
        raise ConversionError(f"--normalization=running is for models that normalise over the "
                              f"utterance, this one's normalization is {kind}")
    _check_position(resolved, "--normalization=running")
    resolved.encoder["normalization"]["type"] = next(
        running for running, deviation in RUNNING_TYPES.items()
        if deviation == UTTERANCE_TYPES[kind])
    resolved.assumed["encoder.normalization.type"] = "--normalization=running"


def _check_position(resolved: Resolved, choice: str) -> None:
    """Rejects a choice without effect: positions that count from the end need the whole."""
    scheme = resolved.encoder["position"]["scheme"]
    if scheme in _OF_WHOLE_UTTERANCES:
        raise ConversionError(f"{choice} is for models that can stream with it, this one's "
                              f"positions ({scheme}) {_OF_WHOLE_UTTERANCES[scheme]}")


def needs_whole_utterance(encoder: Dict[str, Any]) -> bool:
    """Whether the architecture cannot be computed chunk by chunk."""
    convolution = encoder[convolution_field(encoder)]
    return ((convolution is not None and convolution["type"] == "symmetric")
            or encoder["normalization"]["type"] in UTTERANCE_TYPES
            or encoder["position"]["scheme"] in _OF_WHOLE_UTTERANCES)


def _chunk_multiple(encoder: Dict[str, Any]) -> int:
    """The sizes of chunks are multiples of this."""
    ones = [1] * encoder["num_layers"]
    return chunk_multiple(encoder["position"].get("group_sizes", ones),
                          encoder.get("strides", ones))


def recommend_chunks(resolved: Resolved) -> None:
    """Recommends chunks, after choices that let a model stream.

    A model that needs the other choice, too, gets a note.
    """
    section, encoder = resolved.streaming, resolved.encoder
    if needs_whole_utterance(encoder):
        other = ("--normalization=running" if encoder["normalization"]["type"] in UTTERANCE_TYPES
                 else "--convolution=dynamic_chunk")
        resolved.notes.append(f"the model still needs the whole utterance, without {other}")
    elif section["chunk_size"] == -1:
        multiple = _chunk_multiple(encoder)
        section.update(chunk_size=-(-32 // multiple) * multiple,
                       left_context=128 // multiple * multiple, only=None)
        resolved.assumed["streaming"] = "the model was trained on whole utterances"


def _leaves(value: Any, path: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict) and value and "chunk_size" not in path:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, value


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _summary(names: List[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"

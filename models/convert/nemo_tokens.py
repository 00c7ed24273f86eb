"""The tokens of a NeMo model: of its tokenizer's files, or of its options."""

import dataclasses
from typing import List, Optional, Tuple

from models.convert import nemo_options, units
from models.convert.errors import ConversionError
from models.convert.folder import Folder
from models.convert.sentencepiece import read_pieces
from models.convert.settings import Settings, shown
from models.convert.token_kinds import TokenKinds

_TOKENIZER_TYPES = ("bpe", "wpe")  # of one language


@dataclasses.dataclass
class _Tokens:
    """Tokens and the name of their source; kinds by id."""

    names: List[str] = dataclasses.field(default_factory=list)
    kinds: TokenKinds = TokenKinds()
    source: str = ""


def read_tokens(config: Settings, folder: Folder, size: int) -> Tuple[List[str], TokenKinds]:
    """The tokens of the tokenizer, then the blank, which is NeMo's last.

    Args:
        size: of the vocabulary, without the blank.

    Raises:
        ConversionError: names the file or option at fault.
    """
    kind = nemo_options.tokenizer_type(config)
    vocabulary = next((values for values in (
        config.section("aux_ctc").section("decoder").take("vocabulary", None),
        config.section("decoder").take("vocabulary", None),
        config.section("joint").take("vocabulary", None), config.take("labels", None))
        if values), None)
    if kind == "agg":
        tokens = _of_languages(config.section("tokenizer"), folder)
    else:
        tokens = _of_files(config.section("tokenizer"), kind, folder, is_only=True)
        if len(tokens.names) != size and vocabulary and len(vocabulary) == size:
            tokens = _extended(tokens, vocabulary, kind)
        if not tokens.names and vocabulary:
            tokens = _of_vocabulary(vocabulary, kind, TokenKinds())
    if not tokens.names:
        raise ConversionError(f"{folder.where('tokenizer.model')}: no such file (the tokens, which "
                              "model_config.yaml does not list either)")
    if len(tokens.names) != size:
        raise ConversionError(f"{tokens.source}: has {len(tokens.names)} tokens, the model has "
                              f"{size} and the blank")
    sizes = [count for _, count in tokens.kinds.vocabularies]
    return (units.to_units([*tokens.names, "<blank>"], tokens.source, sizes), tokens.kinds)


def _extended(tokenizer: _Tokens, vocabulary: List[str], kind: str) -> _Tokens:
    """The tokens that model_config.yaml lists: those of the tokenizer and added ones, as <EOU>."""
    tokens = _of_vocabulary(vocabulary, kind, tokenizer.kinds)
    for i, name in enumerate(tokenizer.names):
        listed = tokens.names[i] if i < len(tokens.names) else None
        if listed != name:
            raise ConversionError(f"{tokens.source} has {shown(listed)} as token {i}, expected "
                                  f"{shown(name)} of {tokenizer.source}")
    return tokens


def _of_vocabulary(vocabulary: List[str], kind: str, of_tokenizer: TokenKinds) -> _Tokens:
    """The tokens that model_config.yaml lists."""
    source = "model_config.yaml: decoder.vocabulary"
    if kind != "wpe":
        return _Tokens(list(vocabulary), of_tokenizer, source)
    return _of_word_pieces(vocabulary, source)


def _of_word_pieces(lines: List[str], source: str) -> _Tokens:
    names = units.from_word_pieces(lines)
    control = frozenset(i for i, name in enumerate(names) if name in units.BERT_CONTROL)
    return _Tokens(names, TokenKinds(control), source)


def _of_languages(tokenizer: Settings, folder: Folder) -> _Tokens:
    """AggregateTokenizer: the vocabularies of several languages, one after the other."""
    languages = tokenizer.take("langs")
    if not isinstance(languages, dict) or not languages:
        raise ConversionError(f"model_config.yaml.tokenizer.langs is {shown(languages)}, expected "
                              "tokenizers by language")
    tokenizer.ignore("custom_tokenizer")
    all_tokens = _Tokens(source="model_config.yaml.tokenizer.langs")
    for language in languages:
        section = tokenizer.section("langs").section(language)
        section.ignore("dir")
        kind = str(section.take("type", "bpe")).lower()
        if kind not in _TOKENIZER_TYPES:
            raise ConversionError(f"model_config.yaml.tokenizer.langs.{language}.type is {kind!r}, "
                                  "which is not supported; supported: bpe, wpe")
        tokens = _of_files(section, kind, folder, is_only=False)
        section.ignore("model_path", "spe_tokenizer_vocab", "vocab_path")
        if not tokens.names:
            name = str(section.take("model_path", None) or "tokenizer.model").replace("nemo:", "")
            raise ConversionError(f"{folder.where(name)}: no such file (the tokens of {language})")
        first = len(all_tokens.names)
        kinds = all_tokens.kinds
        all_tokens.names += tokens.names
        all_tokens.kinds = TokenKinds(
            kinds.control.union(first + i for i in tokens.kinds.control),
            kinds.bytes.union(first + i for i in tokens.kinds.bytes),
            (*kinds.vocabularies, (str(language), len(tokens.names))))
    return all_tokens


def _of_files(tokenizer: Settings, kind: str, folder: Folder, is_only: bool) -> _Tokens:
    """The tokens of the SentencePiece model, of its list of pieces, or of BERT's vocabulary.

    Args:
        is_only: whether the model has no other tokenizer, whose files could be found.
    """
    def file(option: str, suffix: str) -> Optional[str]:
        configured = str(tokenizer.take(option, None) or "").replace("nemo:", "")
        matching = [name for name in folder.names() if name.endswith(suffix)] if is_only else []
        return folder.find(configured or None, *(matching if len(matching) == 1 else []))

    if kind == "bpe":
        model = file("model_path", "tokenizer.model")
        if model is not None:
            pieces = read_pieces(folder.read(model), folder.where(model))
            kinds = TokenKinds(frozenset(pieces.control), frozenset(pieces.bytes))
            return _Tokens(pieces.texts, kinds, folder.where(model))
        listed = file("spe_tokenizer_vocab", "tokenizer.vocab")
        if listed is not None:
            lines = units.read_lines(folder.read(listed), folder.where(listed))
            return _Tokens([line.split("\t")[0] for line in lines], TokenKinds(),
                           folder.where(listed))
    if kind == "wpe":
        listed = file("vocab_path", "vocab.txt")
        if listed is not None:
            return _of_word_pieces(units.read_lines(folder.read(listed), folder.where(listed)),
                                   folder.where(listed))
    return _Tokens()

"""Kinds of special tokens, as a model file lists them."""

import dataclasses
import re
from typing import Any, Collection, Dict, FrozenSet, List, Optional, Sequence, Tuple

from models.reference.archive import tags

END_TOKENS = ("<EOU>", "<EOB>")  # of NeMo: the end of an utterance, of a backchannel
_NUM_BYTES = 256
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_TAG = re.compile(r"<\|?([a-z]{2,3})(?:[-_]([A-Z][a-z]{3}))?(?:[-_]([A-Z]{2}|[0-9]{3}))?\|?>")
# ISO 639-1. A tag of two letters that is none of these, such as <sp>, is not of a language.
_CODES = frozenset((
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
).split())


@dataclasses.dataclass(frozen=True)
class TokenKinds:
    """What the source says of its tokens, by id, beside their names."""

    control: FrozenSet[int] = frozenset()  # no text, besides tags
    bytes: FrozenSet[int] = frozenset()
    # (language, number of tokens) of a vocabulary that is made of several.
    vocabularies: Tuple[Tuple[str, int], ...] = ()


def special_tokens(units: Sequence[str], kinds: TokenKinds, blank_ids: Collection[int],
                   languages: Collection[str]) -> List[Dict[str, Any]]:
    """The field of the model file.

    Args:
        languages: names of the language prompt, whose tags count whatever their form.
    """
    no_text = kinds.control.union(tags(units))
    of_bytes = kinds.bytes or _bytes_by_form(units)
    entries: List[Dict[str, Any]] = []
    for i in sorted(no_text.union(of_bytes).difference(blank_ids)):
        language = language_of_tag(units[i], languages)
        if i in of_bytes:
            entries.append({"id": i, "kind": "byte"})
        elif units[i] in END_TOKENS:
            entries.append({"id": i, "kind": "end"})
        elif language is not None:
            entries.append({"id": i, "kind": "language", "language": language})
        else:
            entries.append({"id": i, "kind": "hidden"})
    return entries


def language_of_tag(unit: str, languages: Collection[str] = ()) -> Optional[str]:
    """The language that a tag such as <en-US> names; None for other tags."""
    if unit.startswith("<") and unit.strip("<|>") in languages:
        return unit.strip("<|>")
    match = _TAG.fullmatch(unit)
    if match is None:
        return None
    code, script, region = match.groups()
    if code not in _CODES and not (len(code) == 3 and region is not None):
        return None  # such as <pad>
    return "-".join(part for part in (code, script, region) if part)


def _bytes_by_form(units: Sequence[str]) -> FrozenSet[int]:
    """The byte pieces of a list of tokens without kinds: SentencePiece has all or none."""
    found = frozenset(i for i, unit in enumerate(units) if _BYTE.fullmatch(unit))
    return found if len({units[i] for i in found}) == _NUM_BYTES else frozenset()

"""Models with a transducer, an attention decoder or a language prompt, converted at run time."""

import functools
import pathlib
import sys

from tool_runner import ROOT, temporary_folder

sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "tools" / "decode")]
from nemo_files import NemoFile  # noqa: E402
from test_convert_transducers import add_prompt  # noqa: E402
from test_transducers import converted  # noqa: E402

from models.convert.command import main as convert  # noqa: E402


@functools.lru_cache(maxsize=None)
def multilingual() -> pathlib.Path:
    """A hybrid model with the languages en-US, de-DE and auto, and random weights."""
    folder = temporary_folder("multilingual-")
    nemo = NemoFile("fastconformer_streaming", "hybrid")
    add_prompt(nemo)
    source = nemo.write(folder / "model.nemo")
    assert convert(["nemo", str(source), f"--output={folder / 'model.pt'}"]) == 0
    return folder / "model.pt"


def model_of(name: str) -> pathlib.Path:
    """The file of "multilingual", or of a case of ../shared/data/transducer_golden; skips without
    it."""
    return multilingual() if name == "multilingual" else converted(name)[0] / "model.pt"

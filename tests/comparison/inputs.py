"""The files that the cases read. Each is made when a case first needs it, once for both builds."""

import contextlib
import io
import pathlib
import string
import subprocess
import sys
from typing import Dict

import numpy as np
import soundfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support/python"), str(ROOT / "tests/models")]
from audio_files import FORMATS, audio_file  # noqa: E402
from search_files import write_digits, write_unigrams  # noqa: E402
from shared_data import SHARED  # noqa: E402
from tool_runner import DIGITS, SAMPLES, TINY_MODEL  # noqa: E402

_KED = SAMPLES / "ked_year.flac"
# What libsndfile does not write: extension, and FFmpeg's encoder.
_OTHER_FORMATS = {"m4a": "aac", "aac": "aac", "webm": "libopus", "mka": "flac"}
_NUM_SPEECH = 8  # recordings of real speech
# What tells the family of a model in ../shared/data.
_FAMILIES = {"model.nemo": "nemo", "state_dict.pt": "nemo", "train.yaml": "wenet",
             "config.yaml": "icefall"}


class MissingInput(Exception):
    """An input that cannot be made on this machine; the message is one line."""


class Inputs(Dict[str, str]):
    """The names of the table, each with its place in a command line.

    A missing one raises MissingInput.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(DIGITS=str(DIGITS / "digits.pt"), TINY=str(TINY_MODEL), KED=str(_KED),
                         BOTH=str(DIGITS / "digits_transducer.pt"), WORDS=str(DIGITS / "words.txt"),
                         SAMPLES=f"--wav_scp={SAMPLES / 'wav.scp'}",
                         STEREO=str(SAMPLES / "f4_stereo.flac"),
                         OUT="$OUT", SERVER="$SERVER")  # of each build
        self._folder = folder

    def __missing__(self, name: str) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        kind, _, argument = name.lower().partition("_")
        self[name] = getattr(self, f"_make_{kind}")(*filter(None, [argument]))
        return self[name]

    def fill_in(self, case: str) -> str:
        """The command line of a case, in which only $OUT and $SERVER are left."""
        return string.Template(case).substitute(self)

    def _make_long(self) -> str:
        """Some of the samples with pauses between them."""
        parts = [soundfile.read(SAMPLES / f"{name}.flac", dtype="int16")[0] for name in
                 ("rms_phone_number", "ked_year", "alicia_countdown", "diogo_one_word")]
        pause = np.random.default_rng(1).integers(-3, 4, 12000).astype(np.int16)
        path = self._folder / "long.flac"
        soundfile.write(path, np.concatenate([x for part in parts for x in (part, pause)]), 16000)
        return str(path)

    def _make_hotwords(self) -> str:
        path = self._folder / "hotwords.txt"
        path.write_text("seven :2\ntwo zero\nsix :-1.5\n", encoding="utf-8")
        return str(path)

    def _make_arpa(self) -> str:
        return str(write_digits(self._folder / "words.arpa", two=-3, zero=-0.2, five=-0.5))

    def _make_tokens(self) -> str:
        letters = {letter: -1.25 for letter in "efghinorstuvwxz"}
        return str(write_unigrams(self._folder / "tokens.arpa",
                                  {**letters, "▁": -0.5, "<s>": -99, "</s>": -1}))

    def _make_formats(self) -> str:
        folder = self._folder / "formats"
        folder.mkdir()
        samples, rate = soundfile.read(_KED, dtype="int16")
        for form, subtype in FORMATS:
            (folder / f"{form}_{subtype}").write_bytes(audio_file(samples, rate, form, subtype))
        for extension, encoder in _OTHER_FORMATS.items():
            try:
                subprocess.run(["ffmpeg", "-v", "error", "-i", _KED, "-c:a", encoder,
                                folder / f"{encoder}.{extension}"], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise MissingInput(str(error)) from None
        return self._list(folder)

    def _make_speech(self) -> str:
        return self._list(_shared("speech_en") / "wav", _NUM_SPEECH)

    def _list(self, folder: pathlib.Path, most: int = 1000) -> str:
        path = self._folder / f"{folder.name}.scp"
        lines = (f"{file.name} {file}\n" for file in sorted(folder.iterdir())[:most])
        path.write_text("".join(lines), encoding="utf-8")
        return f"--wav_scp={path}"

    def _make_model(self, name: str) -> str:
        """A model of another family, converted."""
        from models.convert.command import main as convert  # loads PyTorch
        source, output = _shared(name), self._folder / f"{name}.pt"
        marker = next(marker for marker in _FAMILIES if (source / marker).exists())
        if marker == "model.nemo":
            source /= marker
        with contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()) as messages:
            failed = convert([_FAMILIES[marker], str(source), f"--output={output}"])
        if failed:
            raise MissingInput(messages.getvalue().strip())
        return str(output)


def _shared(name: str) -> pathlib.Path:
    for folder in (SHARED / name, *SHARED.glob(f"*/{name}")):
        if folder.is_dir():
            return folder
    raise MissingInput(f"{SHARED}: no folder {name}")

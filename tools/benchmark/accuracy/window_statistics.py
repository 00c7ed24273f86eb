"""Word errors of windows by the statistics that normalise their features, as a table in Markdown.

    python3 -m tools.benchmark.accuracy.window_statistics --model=M.pt --manifest=DIR/manifest.tsv
        [--chunk_size=16] [--left_context=128] [--right_context=16,32] [--dump_features=PATH]
        [--joined]

The model is a CTC model that normalises features over the utterance. Windows are computed by the
PyTorch reference in float32, because the runtime has one kind of statistics only. --joined makes
one recording of those of each set. It takes some minutes.
"""

import subprocess
import sys
from typing import Callable, Dict, List, Optional

import numpy as np
import torch
from torch import Tensor

from models.digits.score import align
from models.reference.archive import read_archive
from models.reference.model import ModelConfig, SpeechModel
from models.reference.normalization import UTTERANCE_TYPES, Statistics
from models.reference.subsampling import geometry_of
from tools.benchmark.accuracy.evaluate import Evaluation, make_parser, run, total, words_of
from tools.benchmark.accuracy.windows import sizes
from tools.benchmark.pages.command import ROOT
from tools.benchmark.pages.markdown import table
from tools.benchmark.pages.programs import ProgramError


class _Recognizer:
    """Windows of features, and their greedy text."""

    def __init__(self, path: str) -> None:
        module, config, self._units = read_archive(path)
        sections = ModelConfig.from_json(config)
        if sections.encoder.normalization.type not in UTTERANCE_TYPES or sections.ctc is None:
            raise ValueError(f"{path}: expected a CTC model that normalises features over the "
                             "utterance")
        self._model = SpeechModel(sections).eval()
        self._model.load_state_dict(module.state_dict())
        self._config, self._blank = sections.encoder, sections.ctc.blank_id
        self.geometry = geometry_of(self._config.subsampling)

    def normalize(self, frames: Tensor, seen: Tensor) -> Tensor:
        """`frames` by the statistics of `seen`."""
        statistics = Statistics(seen.size(1))
        statistics.add(seen)
        normalization = self._config.normalization
        return statistics.normalize(frames, normalization.epsilon,
                                    UTTERANCE_TYPES[normalization.type])

    def log_probs(self, frames: Tensor) -> Tensor:
        """Of normalised frames, an utterance of their own; (T', vocabulary)."""
        with torch.no_grad():
            return self._model(frames[None], torch.tensor([frames.size(0)]), -1, -1)[0][0]

    def words(self, log_probs: Tensor) -> List[str]:
        ids = torch.unique_consecutive(log_probs.argmax(1)).tolist()
        pieces = [self._units[i] for i in ids if i != self._blank]
        return words_of("".join(pieces).replace("\u2581", " "))


# (recognizer, features, first frame of the window, end of the chunk, end of the window) -> the
# frames of the window, normalised. Frame numbers are of features.
Normalize = Callable[[_Recognizer, Tensor, int, int, int], Tensor]


class _Once:
    """Each frame by the statistics of all frames that were there when it was in the chunk; those of
    the right context by the present ones."""

    def __init__(self) -> None:
        self._done: List[Tensor] = []  # frames in order; those of a right context come again
        self._count = 0

    def __call__(self, recognizer: _Recognizer, x: Tensor, first: int, chunk_end: int,
                 end: int) -> Tensor:
        fresh = recognizer.normalize(x[self._count:end], x[:end])
        window = torch.cat([*self._done, fresh])[first:]
        self._done.append(fresh[:chunk_end - self._count])
        self._count = chunk_end
        return window


# Makes the function for a new recording.
STATISTICS: Dict[str, Callable[[], Normalize]] = {
    "of the window": lambda: lambda r, x, first, _, end: r.normalize(x[first:end], x[first:end]),
    "of all frames so far": lambda: lambda r, x, first, _, end: r.normalize(x[first:end], x[:end]),
    "of all frames so far, those of the left context as in their own chunk": _Once,
    "of all frames up to the end of the chunk":
        lambda: lambda r, x, first, chunk_end, end: r.normalize(x[first:end], x[:chunk_end]),
    "of the whole recording": lambda: lambda r, x, first, _, end: r.normalize(x[first:end], x),
}


def _decode(recognizer: _Recognizer, features: Tensor, chunk: int, left: int, right: int,
            normalize: Normalize) -> List[str]:
    geometry, num_frames = recognizer.geometry, features.size(0)
    rows = []
    for offset in range(0, geometry.num_encoder_frames(num_frames), chunk):
        first = max(0, offset - left)
        chunk_end = min(geometry.feature_range(offset, chunk)[1], num_frames)
        end = min(chunk_end + right * geometry.rate, num_frames)
        window = normalize(recognizer, features, first * geometry.rate, chunk_end, end)
        rows.append(recognizer.log_probs(window)[offset - first:offset - first + chunk])
    return recognizer.words(torch.cat(rows))


def _features(evaluation: Evaluation) -> Dict[str, Tensor]:
    args, features = evaluation.args, {}
    for row in evaluation.recordings:
        output = evaluation.folder / "features.npy"
        done = subprocess.run([str(args.dump_features), f"--model={args.model}",
                               f"--wav={row.path}", f"--output={output}"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise ProgramError(done.stderr.strip())
        features[row.key] = torch.from_numpy(np.load(output))
    return features


def window_statistics(evaluation: Evaluation) -> None:
    """Prints the table."""
    args = evaluation.args
    recognizer, features = _Recognizer(str(args.model)), _features(evaluation)
    groups: Dict[str, list] = {}
    for row in evaluation.recordings:
        groups.setdefault(row.set_name if args.joined else row.key, []).append(row)
    recordings = [([word for row in group for word in row.words],
                   torch.cat([features[row.key] for row in group])) for group in groups.values()]
    rows = []
    for name, make in STATISTICS.items():
        rates = [total([align(words, _decode(recognizer, x, args.chunk_size, args.left_context,
                                             right, make())) for words, x in recordings]).rate()
                 for right in args.right_context]
        rows.append([name, *(f"{rate:.2f} %" for rate in rates)])
    print(table(["statistics", *(f"R = {right}" for right in args.right_context)], rows), end="")


def main(arguments: Optional[List[str]] = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--chunk_size", type=int, default=16)
    parser.add_argument("--left_context", type=int, default=128)
    parser.add_argument("--right_context", type=sizes, default=[16, 32])
    parser.add_argument("--dump_features", default=ROOT / "build" / "bin" / "dump_features")
    parser.add_argument("--joined", action="store_true")
    return run("window_statistics", parser.parse_args(arguments), [], window_statistics)


if __name__ == "__main__":
    sys.exit(main())

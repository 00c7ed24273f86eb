#!/usr/bin/python3
"""Makes the model that the benchmark runs: of the size of WeNet's AISHELL Conformer, random.

    python3 models/make_benchmark_model.py --output=model.pt [--seed=1]

33 million parameters; its text means nothing, its time does. The sizes and the weights are in
models/benchmark/model.py.
"""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
from models.benchmark.model import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Converts a trained model of another project to a model archive (models/README.md).

    python3 models/convert.py FAMILY SOURCE --output=model.pt

FAMILY is wenet, nemo or espnet. The work is done by the package next to this file.
"""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
from models.convert.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

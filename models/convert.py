#!/usr/bin/python3
"""Converts a trained model of another project to a model file (models/README.md).

    python3 models/convert.py FAMILY SOURCE --output=model.pt

FAMILY is wenet, nemo, espnet or icefall. The work is done by the package next to this file.

    python3 models/convert.py arpa LM.arpa --output=LM.bin

compiles an n-gram language model (docs/language_models.md).
"""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
try:
    from models.convert.programs import COMMAND
    if sys.argv[1:2] == ["arpa"]:
        from models.convert.arpa import main
    else:
        from models.convert.command import main
except ModuleNotFoundError as missing:
    if missing.name not in ("numpy", "torch", "yaml"):
        raise
    sys.exit(f"{COMMAND}: this Python ({sys.executable}) has no {missing.name}; expected one with "
             "numpy, torch and yaml: apt-get install python3-torch python3-yaml, then "
             f"/usr/bin/python3 {sys.argv[0]}")

if __name__ == "__main__":
    sys.exit(main())

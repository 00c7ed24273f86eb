"""Importers of trained models: WeNet, NeMo and ESPnet experiments to model archives.

One file per family says what its options and tensor names mean; everything else is common:

    weights.py   reads checkpoints without running code that is in them
    settings.py  reads options, remembers which were assumed, refuses unknown ones
    renaming.py  tensor names by a table of patterns, refuses unknown ones
    units.py     token lists to units.txt, sentencepiece.py reads SentencePiece models
    features.py  the `features` section
    resolved.py  the outcome: an architecture, its weights, what was assumed
    export.py    resolved model to archive
"""

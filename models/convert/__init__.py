"""Importers of trained models: WeNet, NeMo and ESPnet experiments to model files.

wenet.py, nemo.py and espnet.py map the options and tensor names of each toolkit. They share:

    weights.py   reads checkpoints without running code in them
    settings.py  reads options, records assumed ones, rejects unknown ones
    renaming.py  maps tensor names by a table of patterns, rejects unknown ones
    units.py     token lists to units.txt, sentencepiece.py reads SentencePiece models
    features.py  the `features` section
    resolved.py  the result: an architecture, its weights, the assumptions
    export.py    resolved model to model file

arpa.py compiles n-gram language models, by the program compile_lm.
"""

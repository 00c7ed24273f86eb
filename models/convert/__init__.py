"""Importers of trained models: WeNet, NeMo, ESPnet and icefall experiments to model files.

wenet.py, nemo.py, espnet.py and icefall.py map the options and tensor names of each toolkit, with
wenet_*.py and nemo_*.py for parts of it. Each reads and checks all options before the weights. They
share:

    weights.py   the weights of a checkpoint; checkpoint_file.py and pickle_data.py read its file,
                 and run nothing in it
    folder.py    files of an experiment or a .nemo archive
    settings.py  reads options, records assumed ones, rejects unknown ones
    renaming.py  maps tensor names by a table of patterns, rejects unknown ones
    units.py     token lists to units.txt, sentencepiece.py reads SentencePiece models
    features.py  the `features` section
    transducers.py        predictors
    attention_decoder.py  the `attention_decoder` section
    resolved.py  the result: an architecture, its weights, the assumptions
    export.py    resolved model to model file

arpa.py compiles n-gram language models, by the program compile_lm.
"""

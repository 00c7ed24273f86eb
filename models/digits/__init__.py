"""A small streaming model of spoken English digit strings: data, training, evaluation, export."""

"""Word errors of decode_wav on recordings with references, for tables of docs/."""

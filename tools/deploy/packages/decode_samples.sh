#!/bin/sh
# Decodes the sample recordings with the installed tools and model, and compares the text:
#   decode_samples.sh [more flags of decode_wav]
set -eu
cd /usr/share/runnel
samples=models/digits/samples
runnel transcribe models/digits/digits.pt --wav_scp=$samples/wav.scp "$@" | cmp - $samples/text
echo "decode_samples: the text of $(wc -l <$samples/text) recordings is right${*:+ ($*)}"

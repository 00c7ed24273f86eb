"""Recordings in every format that libsndfile writes, as G.711 and as Opus packets."""

import io
from typing import List, Tuple

import numpy as np
import soundfile

# Container and encoding. Left out are those that fix the rate (WVE, XI) or need a second file
# (SD2), and the one that is refused (SDS).
ALL_FORMATS = [
    ("WAV", "PCM_16"), ("WAV", "ULAW"), ("WAV", "ALAW"), ("WAV", "IMA_ADPCM"), ("WAV", "MS_ADPCM"),
    ("WAV", "GSM610"), ("WAV", "G721_32"), ("WAVEX", "PCM_24"), ("RF64", "PCM_16"),
    ("W64", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"),
    ("MP3", "MPEG_LAYER_III"), ("AIFF", "PCM_16"), ("AU", "ULAW"), ("AU", "G721_32"),
    ("CAF", "PCM_16"), ("CAF", "ALAC_16"), ("NIST", "PCM_16"), ("VOC", "ALAW"), ("IRCAM", "ULAW"),
    ("SVX", "PCM_16"), ("AVR", "PCM_16"), ("PAF", "PCM_16"), ("PVF", "PCM_16"),
    ("MAT4", "PCM_16"), ("MAT5", "PCM_16"), ("MPC2K", "PCM_16"), ("HTK", "PCM_16")]

# Those that this machine's libsndfile has: old ones lack MP3.
FORMATS = [pair for pair in ALL_FORMATS
           if pair[0] in soundfile.available_formats() and soundfile.check_format(*pair)]

# Those that servers refuse.
UNCOMMON = ("IRCAM/", "SVX/", "AVR/", "PAF/", "PVF/", "MAT", "MPC2K/", "HTK/")
COMMON_FORMATS = [pair for pair in FORMATS if not "/".join(pair).startswith(UNCOMMON)]


def audio_file(samples: np.ndarray, rate: int, form: str, subtype: str) -> bytes:
    """The bytes of a file."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=form, subtype=subtype)
    return file.getvalue()


def g711(samples: np.ndarray, encoding: str) -> bytes:
    """One byte per sample, in mulaw or alaw, as libsndfile encodes them."""
    return audio_file(samples, 8000, "RAW", {"mulaw": "ULAW", "alaw": "ALAW"}[encoding])


def ogg_packets(file: bytes) -> List[bytes]:
    """The packets in the pages of an Ogg file with one stream (RFC 3533, section 6)."""
    packets, packet, begin = [], b"", 0
    while begin < len(file):
        assert file[begin:begin + 4] == b"OggS"
        sizes = file[begin + 27:begin + 27 + file[begin + 26]]
        begin += 27 + len(sizes)
        for size in sizes:
            packet += file[begin:begin + size]
            begin += size
            if size < 255:
                packets.append(packet)
                packet = b""
    return packets


def opus_packets(samples: np.ndarray, rate: int) -> Tuple[List[bytes], int]:
    """The Opus packets of a recording as libsndfile encodes them, and how many samples at 48 kHz
    precede the recording in them (RFC 7845, section 5.1)."""
    head, _, *packets = ogg_packets(audio_file(samples, rate, "OGG", "OPUS"))
    assert head.startswith(b"OpusHead")
    return packets, int.from_bytes(head[10:12], "little")

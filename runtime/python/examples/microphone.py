"""Live captions from a microphone: microphone.py MODEL

Records with the package sounddevice if it is installed, otherwise with arecord (alsa-utils). Each
utterance becomes a line; the text that is spoken now is shown until then. Ctrl-C ends.
"""

import shutil
import subprocess
import sys
from typing import Iterator

import numpy as np

import runnel

try:
    import sounddevice
except (ImportError, OSError):  # OSError: it finds no PortAudio
    sounddevice = None


def record_with_sounddevice(rate_hz: int) -> Iterator[np.ndarray]:
    """Packets of 100 ms, (n,) int16, as they are recorded."""
    with sounddevice.InputStream(samplerate=rate_hz, channels=1, dtype="int16") as recorder:
        while True:
            yield recorder.read(rate_hz // 10)[0][:, 0]


def record_with_arecord(rate_hz: int) -> Iterator[np.ndarray]:
    """The same; ends with the program."""
    command = ["arecord", "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(rate_hz)]
    if shutil.which(command[0]) is None:
        sys.exit("microphone.py: there is no arecord, expected Debian's package alsa-utils or "
                 "Python's package sounddevice")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as recorder:
        while packet := recorder.stdout.read(rate_hz // 10 * 2):
            yield np.frombuffer(packet[:len(packet) // 2 * 2], np.int16)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: microphone.py MODEL")
    model = runnel.load(sys.argv[1])
    record = record_with_arecord if sounddevice is None else record_with_sounddevice
    with model.stream(endpointing=True) as stream:
        try:
            for packet in record(model.sample_rate_hz):
                stream.accept(packet)
                for utterance in stream.utterances():
                    print(f"\r\x1b[K{utterance}")
                print(f"\r\x1b[K{stream.partial}", end="", flush=True)
        except KeyboardInterrupt:
            pass
        for utterance in stream.finish():
            print(f"\r\x1b[K{utterance}")


if __name__ == "__main__":
    main()

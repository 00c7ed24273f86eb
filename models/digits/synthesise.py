"""Synthesises the training material: single digit words and whole strings, by many voices.

    python3 -m models.digits.synthesise --work_dir=DIR [--jobs=2]

Writes the clip stores `words_*` and `strings_*` under DIR/stores; existing stores are kept.
About ten minutes on two cores.
"""

import argparse
import multiprocessing
import random
from pathlib import Path
from typing import List, Tuple

import numpy as np
from scipy.signal import resample_poly

from models.digits import voices
from models.digits.store import STORE_RATE, ClipStore, build_store, trim_silence
from models.digits.synthesisers import Request, render, render_festival
from models.digits.units import WORDS

SEED = 2024
FESTIVAL_BATCH = 50


def espeak_voice(accent: str, variant: str) -> str:
    return f"{accent}+{variant}" if variant else accent


def spoken_string(rng: random.Random, spellings: List[str]) -> str:
    """Spellings joined by spaces or commas; final punctuation varies the intonation."""
    text = spellings[0]
    for spelling in spellings[1:]:
        text += rng.choice((" ", " ", " ", ", ")) + spelling
    return text + rng.choice(("", ".", ",", "?", ""))


def espeak_words(rng: random.Random, draws: int) -> List[Request]:
    """Every English accent x variant x digit, each `draws` times at other rates and pitches."""
    return [Request("espeak", espeak_voice(accent, variant), rng.randint(95, 230),
                    rng.randint(10, 90), spoken_string(rng, [word]), (word,))
            for accent in voices.ESPEAK_ACCENTS for variant in voices.ESPEAK_VARIANTS
            for word in WORDS for _ in range(draws)]


def accented_words(rng: random.Random, draws: int) -> List[Request]:
    """English digits read by voices of other languages."""
    requests = []
    for language, line in voices.ACCENTED_SPELLINGS.items():
        for variant in voices.ACCENTED_VARIANTS:
            for word, spellings in zip(WORDS, line.split()):
                for _ in range(draws):
                    requests.append(Request(
                        "espeak", espeak_voice(language, variant), rng.randint(95, 210),
                        rng.randint(15, 85), rng.choice(spellings.split("/")), (word,)))
    return requests


def recorded_voice_words(rng: random.Random, draws: int) -> List[Request]:
    """Words by flite and festival, whose voices concatenate recordings of people."""
    requests = []
    for word in WORDS:
        for voice in voices.FLITE_VOICES:
            requests += [Request("flite", voice, rng.uniform(0.7, 1.5), rng.uniform(80, 200),
                                 spoken_string(rng, [word]), (word,)) for _ in range(draws)]
        for voice in voices.FESTIVAL_VOICES:
            requests += [Request("festival", voice, rng.uniform(0.7, 1.5), 0.0,
                                 spoken_string(rng, [word]), (word,)) for _ in range(draws)]
    return requests


def strings(rng: random.Random, espeak: int, accented: int, recorded: int) -> List[Request]:
    """Strings of two to six digits without pauses; the counts are numbers of strings."""
    requests = []
    for index in range(espeak + accented + recorded):
        words = tuple(rng.choice(WORDS) for _ in range(rng.randint(2, 6)))
        if index < espeak:
            voice = espeak_voice(rng.choice(voices.ESPEAK_ACCENTS),
                                 rng.choice(voices.ESPEAK_VARIANTS))
            requests.append(Request("espeak", voice, rng.randint(90, 190), rng.randint(10, 90),
                                    spoken_string(rng, list(words)), words))
        elif index < espeak + accented:
            language = rng.choice(sorted(voices.ACCENTED_SPELLINGS))
            table = dict(zip(WORDS, voices.ACCENTED_SPELLINGS[language].split()))
            text = spoken_string(rng, [rng.choice(table[word].split("/")) for word in words])
            voice = espeak_voice(language, rng.choice(voices.ACCENTED_VARIANTS))
            requests.append(Request("espeak", voice, rng.randint(90, 180), rng.randint(15, 85),
                                    text, words))
        else:
            text = spoken_string(rng, list(words))
            if index % 3:
                requests.append(Request("flite", rng.choice(voices.FLITE_VOICES),
                                        rng.uniform(0.8, 1.5), rng.uniform(80, 200), text, words))
            else:
                requests.append(Request("festival", rng.choice(voices.FESTIVAL_VOICES),
                                        rng.uniform(0.8, 1.5), 0.0, text, words))
    return requests


def to_store_rate(samples: np.ndarray, rate: int) -> np.ndarray:
    """Trimmed samples at 8 kHz, scaled to a peak of one half."""
    divisor = np.gcd(rate, STORE_RATE)
    if rate != STORE_RATE:
        samples = resample_poly(samples, STORE_RATE // divisor, rate // divisor)
    samples = trim_silence(samples, STORE_RATE)
    peak = np.abs(samples).max() if len(samples) else 0.0
    return (samples * (0.5 / peak) if peak > 0 else samples).astype(np.float32)


def render_group(group: List[Request]) -> List[Tuple[np.ndarray, Tuple[str, ...], str]]:
    """Clips of a group of requests of one engine; failures of single requests raise."""
    spoken = render_festival(group) if group[0].engine == "festival" else map(render, group)
    clips = []
    for request, (samples, rate) in zip(group, spoken):
        samples = to_store_rate(samples, rate)
        if len(samples) >= 0.08 * STORE_RATE:
            clips.append((samples, request.words, f"{request.engine}:{request.voice}"))
    return clips


def render_store(requests: List[Request], path: Path, jobs: int) -> None:
    """Renders requests in parallel, in a fixed order, into the store at `path`."""
    if ClipStore.exists(path):
        print(f"{path}: kept", flush=True)
        return
    ordered = sorted(range(len(requests)), key=lambda i: (requests[i].engine == "festival", i))
    groups: List[List[Request]] = []
    for index in ordered:
        request = requests[index]
        if (groups and len(groups[-1]) < FESTIVAL_BATCH
                and groups[-1][0].engine == request.engine):
            groups[-1].append(request)
        else:
            groups.append([request])
    with multiprocessing.Pool(jobs) as pool:
        items = [clip for clips in pool.imap(render_group, groups) for clip in clips]
    build_store(items).save(path)
    seconds = sum(len(item[0]) for item in items) / STORE_RATE
    print(f"{path}: {len(items)} of {len(requests)} clips, {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    folder = args.work_dir / "stores"
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    plan = {
        "words_recorded": recorded_voice_words(rng, 25),
        "strings": strings(rng, espeak=4000, accented=600, recorded=1500),
        "words_accented": accented_words(rng, 2),
        "words_espeak": espeak_words(rng, 3),
        "strings_recorded": strings(rng, espeak=0, accented=0, recorded=4000),
    }
    for name, requests in plan.items():
        render_store(requests, folder / name, args.jobs)


if __name__ == "__main__":
    main()

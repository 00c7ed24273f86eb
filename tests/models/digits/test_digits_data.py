"""Units, the rule of what CTC can spell, the evaluation lists, and who is kept out of training."""

import os
from pathlib import Path

import numpy as np
import pytest

from models.digits import build_eval_set, make_eval_lists, voices
from models.digits.build_eval_set import (FRESH_LISTS, LEFT_OUT_LIST, UNSEEN_LIST, ensure_set,
                                          read_list, request_of)
from models.digits.effects import resample_word
from models.digits.recordings import (LEFT_OUT_SPEAKER, TRAINING_SPEAKERS, recordings_of,
                                      speaker_of)
from models.digits.store import STORE_RATE, ClipStore, build_store, trim_silence
from models.digits.synthesise import accented_words, espeak_words, recorded_voice_words, strings
from models.digits.tempo import change_tempo
from models.digits.units import (UNITS, WORDS, collapse, decode_ids, encode_words, encoder_frames,
                                 frames_needed, word_seconds)

FSDD = Path(os.environ.get("RUNNEL_SHARED_DATA",
                           Path(__file__).parents[4] / "shared" / "data")) / "fsdd"


def need_fsdd() -> None:
    """Skips without the shared data, fails where it must be."""
    if not FSDD.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{FSDD} is missing")
        pytest.skip(f"{FSDD} is missing")


def tone(seconds: float) -> np.ndarray:
    """A 200 Hz tone at 8 kHz."""
    return 0.5 * np.sin(2 * np.pi * 200.0 * np.arange(int(seconds * STORE_RATE))
                        / STORE_RATE).astype(np.float32)


def test_units():
    assert "".join(UNITS[1:]) == "\u2581efghinorstuvwxz"
    assert UNITS[0] == "<blank>" and len(UNITS) == 17
    assert [UNITS[i] for i in encode_words(["one", "two"])] == list("\u2581one\u2581two")
    assert decode_ids(encode_words(WORDS)) == " ".join(WORDS)


def test_collapse_merges_repeats_but_not_over_a_blank():
    assert collapse([0, 1, 1, 0, 1, 2, 2, 0]) == [1, 1, 2]
    assert collapse([]) == []


def test_frames_needed_counts_the_blank_of_three():
    assert frames_needed(encode_words(["two"])) == 4
    assert frames_needed(encode_words(["three"])) == 7
    assert frames_needed(encode_words(["three", "eight"])) == 13
    assert word_seconds("three") == pytest.approx(0.28)


@pytest.mark.parametrize("frames, expected", [(0, 0), (6, 0), (7, 1), (10, 1), (11, 2), (67, 16)])
def test_encoder_frames(frames, expected):
    assert encoder_frames(frames) == expected


def test_committed_lists_of_unseen_voices_are_reproduced():
    for name, seed in ((UNSEEN_LIST, make_eval_lists.SEED),
                       (FRESH_LISTS[1], make_eval_lists.FRESH_SEED)):
        lines = ["\t".join(row) for row in read_list(name)]
        assert lines == make_eval_lists.unseen_lines(seed)


def test_committed_list_of_the_left_out_speaker_is_reproduced():
    need_fsdd()
    for name, seed in ((LEFT_OUT_LIST, make_eval_lists.SEED),
                       (FRESH_LISTS[0], make_eval_lists.FRESH_SEED)):
        lines = ["\t".join(row) for row in read_list(name)]
        assert lines == make_eval_lists.left_out_lines(FSDD, seed)


def test_left_out_list_holds_one_speaker_only_and_its_words_fit():
    for _, words, recordings, pauses in read_list(LEFT_OUT_LIST):
        assert len(words.split()) == len(recordings.split()) == len(pauses.split()) - 1
        for word, recording in zip(words.split(), recordings.split()):
            assert speaker_of(recording) == LEFT_OUT_SPEAKER
            assert WORDS[int(recording.split("_")[0])] == word


def test_set_is_rendered_again_when_its_list_changes(tmp_path, monkeypatch):
    lists, sets = tmp_path / "lists", tmp_path / "eval"
    lists.mkdir()
    recordings = tmp_path / "fsdd" / "recordings"
    monkeypatch.setattr(build_eval_set, "EVAL_DIR", lists)
    monkeypatch.setattr(build_eval_set, "read_recording", lambda fsdd, key: tone(0.1))
    path = lists / f"{LEFT_OUT_LIST}.tsv"

    def ensure() -> bool:
        return ensure_set(LEFT_OUT_LIST, recordings, sets)

    path.write_text("a\tone\t1_x_0\t0.1 0.1\nb\ttwo\t2_x_0\t0.1 0.1\n")
    assert ensure() and not ensure()
    path.write_text("b\tsix\t6_x_0\t0.1 0.1\n")
    assert ensure() and not ensure()
    target = sets / LEFT_OUT_LIST
    assert (target / "text").read_text() == "b six\n"
    assert [wav.name for wav in target.glob("*.wav")] == ["b.wav"]
    # A set of which nobody says what it was rendered from, as after an interruption.
    (target / "list.sha256").unlink()
    assert ensure() and not ensure()


def test_left_out_speaker_is_not_trained_on():
    assert LEFT_OUT_SPEAKER not in TRAINING_SPEAKERS
    need_fsdd()
    assert {speaker_of(key) for key, _ in recordings_of(FSDD, TRAINING_SPEAKERS)} \
        == set(TRAINING_SPEAKERS)


def test_unseen_voices_are_not_trained_on():
    import random
    rng = random.Random(0)
    requests = (espeak_words(rng, 1) + accented_words(rng, 1) + recorded_voice_words(rng, 1)
                + strings(rng, 400, 100, 100))
    trained = {(request.engine, part) for request in requests
               for part in request.voice.split("+")}
    for row in read_list(UNSEEN_LIST):
        request = request_of(row)
        unseen = request.voice.split("+")[-1]  # of espeak's the variant; the accent may be known
        assert (request.engine, unseen) not in trained
    assert not set(voices.TEST_ACCENTS) & set(voices.ESPEAK_ACCENTS)


def test_store_round_trip(tmp_path):
    build_store([(tone(0.2), ("one",), "a"), (tone(0.1), ("two", "six"), "b")]).save(
        tmp_path / "clips")
    store = ClipStore.load(tmp_path / "clips")
    assert [clip.words for clip in store.clips] == [("one",), ("two", "six")]
    assert store.by_voice_word == {"a": {"one": [0]}}
    assert np.abs(store.audio(1) - tone(0.1)).max() < 1e-4


def test_trim_silence_keeps_the_margin():
    padded = np.concatenate([np.zeros(4000, np.float32), tone(0.5), np.zeros(4000, np.float32)])
    assert len(trim_silence(padded, STORE_RATE, margin_seconds=0.02)) == 4000 + 2 * 160


@pytest.mark.parametrize("tempo", [0.72, 1.3])
def test_tempo_changes_length_and_not_pitch(tempo):
    changed = change_tempo(tone(1.0), STORE_RATE, tempo)
    assert len(changed) == pytest.approx(STORE_RATE / tempo, rel=0.05)
    assert np.fft.rfftfreq(len(changed), 1 / STORE_RATE)[np.abs(np.fft.rfft(changed)).argmax()] \
        == pytest.approx(200.0, abs=4.0)


def test_resampling_changes_both():
    changed = resample_word(tone(1.0), 1.25)
    assert len(changed) == pytest.approx(STORE_RATE / 1.25, rel=0.02)
    assert np.fft.rfftfreq(len(changed), 1 / STORE_RATE)[np.abs(np.fft.rfft(changed)).argmax()] \
        == pytest.approx(250.0, abs=5.0)

"""The sizes of a soak: the full one, and a quick one for tests."""

import dataclasses
from typing import Tuple


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes of the parts of a soak; times in seconds."""

    streams: int  # real-time streams at once, on the large model
    stream_s: float  # duration of each
    ramp_s: float  # time over which they start
    turn_streams: int  # streams whose speech ends again and again, on the large model
    turn_s: float  # mean duration of a turn
    turns_s: float  # duration of the streams of each protocol
    riva_calls: int  # those of them that are calls of Riva, while others are Runnel's
    vanish_one_by_one: int  # clients that connect, send audio and disconnect abruptly
    vanish_at_once: int  # number of such clients at the same time
    killed_streams: int  # streams of digits behind a proxy, while a server is killed
    killed_stream_s: float  # duration of each
    attacked_streams: int  # streams of digits beside each kind of attack
    attacked_before_s: float  # from the attack's start until theirs
    attacked_s: float
    attacked_later_s: float  # until the memory is looked at again
    attacks: Tuple[str, ...]  # kinds; empty: all
    sample_s: float  # interval between two readings of the server's metrics


FULL = Plan(streams=250, stream_s=600, ramp_s=30, turn_streams=200, turn_s=5, turns_s=120,
            riva_calls=20, vanish_one_by_one=10_000, vanish_at_once=500, killed_streams=60,
            killed_stream_s=40, attacked_streams=20, attacked_before_s=5, attacked_s=30,
            attacked_later_s=60, attacks=(), sample_s=5)
QUICK = Plan(streams=4, stream_s=6, ramp_s=1, turn_streams=2, turn_s=1, turns_s=4, riva_calls=1,
             vanish_one_by_one=20, vanish_at_once=5, killed_streams=3, killed_stream_s=12,
             attacked_streams=2, attacked_before_s=0, attacked_s=2, attacked_later_s=0,
             attacks=("describe_flood", "log_flood"), sample_s=1)

# The targets of the whole soak.
CHUNK_P95_MS = 250.0  # from the audio of a chunk received to its partial result sent
END_OF_SPEECH_P99_MS = 50.0  # from the client's end of speech to the final text
HEALTH_MEDIAN_MS, HEALTH_WORST_MS = 5.0, 200.0  # of the answer to a probe
CALL_WORST_MS = 500.0  # of a call of gRPC beside an attack, on a new connection
PEAK_BYTES, LATER_BYTES = 600e6, 300e6  # memory during an attack, and after it
MEMORY_SHARE = 0.10  # largest deviation of the memory from the formula, as a share

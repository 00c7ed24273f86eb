"""How long and how much a soak is: the whole one, and one for tests."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sizes of the parts of a soak; times in seconds."""

    streams: int  # real-time ones at once, on the large model
    stream_s: float  # that each of them lasts
    ramp_s: float  # in which they start
    vanish_one_by_one: int  # clients that connect, speak and vanish
    vanish_at_once: int  # that many of them together
    neighbour_streams: int  # digits, beside clients that misbehave
    neighbour_s: float
    abusive_clients: int
    killed_streams: int  # digits, behind a proxy, while a server is killed
    killed_stream_s: float  # that each of them lasts
    sample_s: float  # between two looks at the server's memory


FULL = Plan(streams=250, stream_s=600, ramp_s=30, vanish_one_by_one=10_000, vanish_at_once=500,
            neighbour_streams=100, neighbour_s=120, abusive_clients=8, killed_streams=60,
            killed_stream_s=40, sample_s=5)
QUICK = Plan(streams=4, stream_s=6, ramp_s=1, vanish_one_by_one=20, vanish_at_once=5,
             neighbour_streams=3, neighbour_s=3, abusive_clients=2, killed_streams=3,
             killed_stream_s=12, sample_s=1)

# The targets of the whole soak.
CHUNK_P95_MS = 250.0  # audio of a chunk received -> its partial sent
MEMORY_SHARE = 0.10  # of the formula's bytes, that the measured ones may differ by

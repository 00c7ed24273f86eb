"""What the programs in this folder share: the same as client_program.mjs, for Python. SSL_CERT_FILE
names a certificate to trust."""

import asyncio
import json
import sys
import wave
from typing import Any, Awaitable, Callable, Dict, Iterator, Tuple

import websockets

OPTIONS = json.loads(sys.argv[1])
PIECE_BYTES = 6400

HalfWay = Callable[[], Awaitable[None]]
Converse = Callable[[HalfWay], Awaitable[Dict[str, Any]]]


def connect() -> Any:
    """The connection to the server, a context. It may take as long as the test."""
    return websockets.connect(OPTIONS["url"].replace("http", "ws", 1), open_timeout=None,
                              ping_timeout=None)


def read_wav() -> Tuple[bytes, int]:
    """The 16-bit samples of the recording and their rate in Hz."""
    with wave.open(OPTIONS["wav"]) as recording:
        return recording.readframes(recording.getnframes()), recording.getframerate()


def halves(audio: bytes) -> Tuple[bytes, bytes]:
    """Each has whole samples of 16 or 32 bits."""
    middle = len(audio) // 8 * 4
    return audio[:middle], audio[middle:]


def pieces(audio: bytes) -> Iterator[bytes]:
    return (audio[begin:begin + PIECE_BYTES] for begin in range(0, len(audio), PIECE_BYTES))


async def _run(converse: Converse) -> None:
    input_ended = asyncio.ensure_future(
        asyncio.get_running_loop().run_in_executor(None, sys.stdin.read))
    before_half = OPTIONS["count"]

    async def serve() -> Dict[str, Any]:
        counted = False

        def count() -> None:
            nonlocal before_half, counted
            before_half -= not counted
            if before_half == 0 and not counted:
                print("half way", flush=True)
            counted = True

        async def half_way() -> None:
            count()
            await asyncio.shield(input_ended)

        try:
            outcome = await converse(half_way)
        except (websockets.WebSocketException, OSError) as error:
            outcome = {"error": str(error)}
        count()
        return outcome

    for outcome in await asyncio.gather(*(serve() for _ in range(OPTIONS["count"]))):
        print(json.dumps(outcome))


def converse_all(converse: Converse) -> None:
    """Runs `count` conversations at once. `converse` returns the outcome of one; it waits for the
    given function half way."""
    asyncio.run(_run(converse))

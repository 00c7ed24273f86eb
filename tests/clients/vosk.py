"""A client of Vosk's server, in lock step as the samples of vosk-server are."""

import asyncio
import json
from typing import Any, Dict, List

from client_program import HalfWay, connect, converse_all, halves, pieces, read_wav

POLL_S = 0.2  # as long as the audio of a message in the samples


async def converse(half_way: HalfWay) -> Dict[str, Any]:
    audio, rate = read_wav()
    texts: List[str] = []
    early = ""
    async with connect() as socket:

        async def ask(message: Any) -> str:
            """Sends a message; returns the text of its answer."""
            await socket.send(message)
            answer = json.loads(await socket.recv())
            if answer.get("text"):
                texts.append(answer["text"])
            return answer.get("partial") or answer.get("text", "")

        await socket.send(json.dumps({"config": {"sample_rate": rate}}))
        first, rest = halves(audio)
        for piece in pieces(first):
            early = await ask(piece) or early
        while not early:
            await asyncio.sleep(POLL_S)
            early = await ask(b"")
        await half_way()
        for piece in pieces(rest):
            await ask(piece)
        await ask('{"eof" : 1}')
        await socket.wait_closed()
        return {"text": " ".join(texts), "early": early, "code": socket.close_code}


converse_all(converse)

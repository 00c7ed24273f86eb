"""A client of WeNet's server."""

import json
from typing import Any, Dict

from client_program import HalfWay, connect, converse_all, halves, pieces, read_wav


async def converse(half_way: HalfWay) -> Dict[str, Any]:
    audio, _ = read_wav()
    first, rest = halves(audio)
    async with connect() as socket:

        async def text_of(kind: str) -> str:
            """The text of the next message of that type which has text, or is final."""
            while True:
                message = json.loads(await socket.recv())
                assert message["status"] == "ok", message
                if message["type"] == kind:
                    sentence = json.loads(message["nbest"])[0]["sentence"]
                    if sentence or kind == "final_result":
                        return sentence

        await socket.send(json.dumps(
            {"signal": "start", "nbest": 1, "continuous_decoding": False}))
        for piece in pieces(first):
            await socket.send(piece)
        early = await text_of("partial_result")
        await half_way()
        for piece in pieces(rest):
            await socket.send(piece)
        await socket.send(json.dumps({"signal": "end"}))
        text = await text_of("final_result")
        await socket.wait_closed()
        return {"text": text, "early": early, "code": socket.close_code}


converse_all(converse)

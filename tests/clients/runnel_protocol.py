"""A client of Runnel's own protocol."""

import json
from typing import Any, Dict

from client_program import HalfWay, connect, converse_all, halves, pieces, read_wav


async def converse(half_way: HalfWay) -> Dict[str, Any]:
    audio, rate = read_wav()
    first, rest = halves(audio)
    early = ""
    async with connect() as socket:
        await socket.send(json.dumps({"type": "start", "version": 1, "sample_rate": rate}))
        for piece in pieces(first):
            await socket.send(piece)
        while not early:
            message = json.loads(await socket.recv())
            if message["type"] == "partial":
                early = message["stable_text"] + message["tentative_text"]
        await half_way()
        for piece in pieces(rest):
            await socket.send(piece)
        await socket.send(json.dumps({"type": "finish"}))
        while message["type"] != "final":
            message = json.loads(await socket.recv())
            assert message["type"] != "error", message
        await socket.wait_closed()
        return {"text": message["text"], "early": early, "code": socket.close_code}


converse_all(converse)

"""A client of sherpa-onnx's server."""

import json
from typing import Any, Dict

import numpy as np
from client_program import HalfWay, connect, converse_all, halves, pieces, read_wav


async def converse(half_way: HalfWay) -> Dict[str, Any]:
    audio, _ = read_wav()
    samples = (np.frombuffer(audio, "<i2") / 32768).astype("<f4").tobytes()
    first, rest = halves(samples)
    segments: Dict[int, str] = {}
    early = ""
    async with connect() as socket:
        for piece in pieces(first):
            await socket.send(piece)
        while not early:
            early = json.loads(await socket.recv())["text"]
        await half_way()
        for piece in pieces(rest):
            await socket.send(piece)
        await socket.send("Done")
        while (message := await socket.recv()) != "Done!":
            result = json.loads(message)
            assert "error" not in result, result
            segments[result["segment"]] = result["text"]
        await socket.wait_closed()
        texts = [segments[index] for index in sorted(segments)]
        return {"text": " ".join(text for text in texts if text), "early": early,
                "code": socket.close_code}


converse_all(converse)

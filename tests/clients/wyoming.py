"""A client of the Wyoming protocol, as Home Assistant's. Further option: wyoming (the port)."""

import asyncio
import json
from typing import Any, Dict, Tuple

from client_program import OPTIONS, HalfWay, converse_all, halves, pieces, read_wav


async def converse(half_way: HalfWay) -> Dict[str, Any]:
    audio, rate = read_wav()
    first, rest = halves(audio)
    audio_format = {"rate": rate, "width": 2, "channels": 1}
    reader, writer = await asyncio.open_connection("127.0.0.1", OPTIONS["wyoming"])

    def send(kind: str, payload: bytes = b"", **data: Any) -> None:
        header = {"type": kind, "data": data, "payload_length": len(payload)}
        writer.write(json.dumps(header).encode() + b"\n" + payload)

    async def receive() -> Tuple[str, Dict[str, Any]]:
        header = json.loads(await reader.readline())
        data = await reader.readexactly(header.get("data_length", 0))
        return header["type"], json.loads(data or b"{}")

    send("transcribe", language="en")
    send("audio-start", **audio_format)
    for piece in pieces(first):
        send("audio-chunk", piece, **audio_format)
    kind, data = await receive()
    assert kind == "transcript-start", (kind, data)
    kind, data = await receive()
    assert kind == "transcript-chunk", (kind, data)
    early = data["text"]
    await half_way()
    for piece in pieces(rest):
        send("audio-chunk", piece, **audio_format)
    send("audio-stop")
    while kind != "transcript":
        kind, data = await receive()
        assert kind != "error", data
    writer.close()
    return {"text": data["text"], "early": early}


converse_all(converse)

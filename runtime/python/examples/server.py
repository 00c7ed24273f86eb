"""A server for live streams: server.py MODEL [PORT]

A client connects by TCP, sends 16-bit PCM at the rate of the model and ends its side of the
connection. The server answers with lines of JSON: {"text": ..., "is_final": ...}.

    arecord -q -t raw -f S16_LE -r 16000 | nc -N localhost 8000

stream_server (runnel serve) is the server for production.
"""

import asyncio
import json
import sys
from typing import Any, Dict

import numpy as np

import runnel


async def send(writer: asyncio.StreamWriter, message: Dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


async def send_updates(stream: runnel.AsyncStream, writer: asyncio.StreamWriter) -> None:
    async for update in stream:
        if update.error:
            await send(writer, {"error": update.error})
        for utterance in update.utterances:
            await send(writer, {"text": utterance.text, "is_final": True})
        if not update.is_final:
            await send(writer, {"text": update.text, "is_final": False})


async def accept_samples(stream: runnel.AsyncStream, reader: asyncio.StreamReader) -> None:
    rest = b""
    while data := await reader.read(1 << 16):
        data = rest + data
        size = len(data) // 2 * 2  # whole samples
        rest = data[size:]
        await stream.accept(np.frombuffer(data[:size], np.int16))
    stream.finish()


async def serve_client(recognizer: runnel.Recognizer, reader: asyncio.StreamReader,
                       writer: asyncio.StreamWriter) -> None:
    async with runnel.AsyncStream(recognizer, endpointing=True) as stream:
        answers = asyncio.create_task(send_updates(stream, writer))
        try:
            await accept_samples(stream, reader)
            await answers
        except ConnectionError:  # the client is gone
            pass
        finally:
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            writer.close()


async def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: server.py MODEL [PORT]")
    port = int(sys.argv[2]) if len(sys.argv) == 3 else 8000
    with runnel.Recognizer(runnel.load(sys.argv[1])) as recognizer:
        server = await asyncio.start_server(
            lambda reader, writer: serve_client(recognizer, reader, writer), "localhost", port)
        print("listening on port", server.sockets[0].getsockname()[1], flush=True)
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass

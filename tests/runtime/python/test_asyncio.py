"""AsyncStream: the results of Stream, and an end in every case."""

import asyncio
import gc

import numpy as np
import pytest
from recordings import PATHS, expected_of, pieces, samples_of, without_latency

import runnel

NAMES = [path.stem for path in PATHS]


def test_asyncio(model, recognizer):
    async def serve(name):
        async with runnel.AsyncStream(recognizer, chunk_size=8) as stream:
            texts = []

            async def read():
                async for update in stream:
                    texts.append(update.text)
                    utterances.extend(update.utterances)

            utterances = []
            reader = asyncio.create_task(read())
            for packet in pieces(samples_of(name), [1600]):
                assert await stream.accept(packet)
            stream.finish()
            await reader
            assert texts[-1] == utterances[-1].text
            return without_latency(utterances)

    async def serve_all():
        return await asyncio.gather(*map(serve, NAMES))

    assert asyncio.run(serve_all()) == [expected_of(model, name, chunk_size=8) for name in NAMES]


def test_asyncio_with_back_pressure_and_snapshot(model):
    samples = np.tile(samples_of("ked_year"), 6)

    async def decode(recognizer):
        async with runnel.AsyncStream(recognizer) as stream:
            assert await stream.accept(samples[:40000])
            snapshot = stream.stream.snapshot()
        assert stream.stream.is_over
        async with runnel.AsyncStream(recognizer, snapshot=snapshot) as stream:
            assert await stream.accept(samples[40000:])
            utterances = await stream.result()
            with pytest.raises(StopAsyncIteration):
                await stream.__anext__()
            return utterances

    with runnel.Recognizer(model, max_buffered_s=1) as recognizer:
        utterances = asyncio.run(decode(recognizer))
    assert without_latency(utterances) == without_latency(model.transcribe(samples).utterances)


def test_asyncio_errors(recognizer):
    async def broken():
        async with runnel.AsyncStream(recognizer) as stream:
            with pytest.raises(TypeError):
                await stream.accept([0.0])
            await stream.accept(np.full(16000, np.nan, np.float32))
            await stream.result()

    with pytest.raises(runnel.DataError):
        asyncio.run(broken())
    with pytest.raises(RuntimeError, match="event loop"):
        runnel.AsyncStream(recognizer)


def test_a_cancelled_task_ends_its_stream(recognizer):
    async def listen():
        async with runnel.AsyncStream(recognizer) as stream:
            streams.append(stream.stream)
            async for _ in stream:
                pass

    async def main():
        task = asyncio.create_task(listen())
        while not streams:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    streams = []
    asyncio.run(main())
    assert streams[0].is_over


def read_while(recognizer, end):
    """Iterates while `end` ends the stream. result() must then raise."""
    async def main():
        stream = runnel.AsyncStream(recognizer)
        assert await stream.accept(samples_of("ked_year")[:16000])

        async def read():
            return [update async for update in stream]

        reader = asyncio.create_task(read())
        await asyncio.sleep(0)  # it waits now
        await asyncio.to_thread(end, stream)
        updates = await reader
        assert stream.stream.is_over and not any(update.is_final for update in updates)
        with pytest.raises(StopAsyncIteration):
            await stream.__anext__()
        with pytest.raises(runnel.DataError, match="cancelled"):
            await stream.result()

    asyncio.run(main())


def test_cancel_ends_the_iteration(recognizer):
    read_while(recognizer, lambda stream: stream.cancel())
    read_while(recognizer, lambda stream: stream.stream.cancel())


def test_closing_the_recognizer_ends_the_iteration(model):
    with runnel.Recognizer(model) as recognizer:
        read_while(recognizer, lambda _: recognizer.close())


def test_a_stream_keeps_its_recognizer(model):
    async def main():
        stream = runnel.AsyncStream(runnel.Recognizer(model))
        gc.collect()
        assert await stream.accept(samples_of("ked_year"))
        return await stream.result()

    assert without_latency(asyncio.run(main())) == expected_of(model, "ked_year")


def test_result_after_the_final_update_has_been_read(recognizer):
    async def main():
        async with runnel.AsyncStream(recognizer) as stream:
            stream.finish()
            assert [update.is_final async for update in stream][-1]
            assert await stream.result() == []

    asyncio.run(main())


def test_dropped_streams_are_cancelled(recognizer):
    async def main():
        for _ in range(5):
            stream = runnel.AsyncStream(recognizer)
            assert await stream.accept(samples_of("ked_year"))
        del stream
        while recognizer.status().num_streams > 0:  # until the worker has finished its chunk
            gc.collect()

    asyncio.run(main())

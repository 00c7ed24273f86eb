"""Objects end in any order, in any thread and with the process, and leave nothing behind."""

import gc
import os
import threading
import weakref

import pytest
from installed_runnel import run_python
from recordings import samples_of
from tool_runner import DIGITS, SAMPLES

import runnel

MODEL = DIGITS / "digits.pt"


class Listener:
    """A callback that weak references can watch."""

    def __init__(self):
        self.is_over = threading.Event()

    def __call__(self, update):
        if update.is_final:
            self.is_over.set()


def test_callbacks_are_freed(model):
    samples = samples_of("diogo_one_word")
    watched = []
    with runnel.Recognizer(model) as recognizer:
        for i in range(20):
            listener = Listener()
            watched.append(weakref.ref(listener))
            stream = recognizer.open(listener)
            stream.notify_room(listener.is_over.is_set)
            stream.accept(samples)
            if i % 2:
                stream.finish()
                listener.is_over.wait()
            else:
                stream.cancel()
        del stream, listener
    gc.collect()
    assert [reference() for reference in watched] == [None] * 20


def test_a_stream_dropped_after_finish_is_decoded(model):
    listener = Listener()
    with runnel.Recognizer(model) as recognizer:
        stream = recognizer.open(listener)
        stream.accept(samples_of("ked_year"))
        stream.finish()
        del stream
        listener.is_over.wait()


def test_parts_outlive_what_made_them():
    stream = runnel.load(MODEL).stream()
    stream.accept(samples_of("ked_year"))
    assert str(stream.finish()[0]) == "two zero two six"
    recognizer = runnel.Recognizer(runnel.load(MODEL))
    assert isinstance(recognizer.model, runnel.Model)
    live = recognizer.open()
    fork = live.fork()
    del recognizer, live
    gc.collect()
    assert fork.accept(samples_of("ked_year"))
    fork.finish()
    assert list(fork)[-1].text == "two zero two six"


def test_the_last_reference_may_be_dropped_in_a_callback(model):
    """The stream and its recognizer are destroyed although a worker of their own drops them."""
    owner = [runnel.Recognizer(model)]
    freed = threading.Event()

    def on_update(_):
        owner.clear()

    weakref.finalize(on_update, freed.set)
    owner.append(owner[0].open(on_update))
    owner[1].accept_now(samples_of("ked_year"))
    del on_update
    freed.wait()


class Caption:
    """Holds a stream whose callback is a method: a cycle."""

    def __init__(self, recognizer):
        self.texts = []
        self.is_over = threading.Event()
        self.stream = recognizer.open(self.on_update)

    def on_update(self, update):
        self.texts.append(update.text)
        if update.is_final:
            self.is_over.set()


def test_a_stream_that_its_callback_refers_to_is_collected(model):
    with runnel.Recognizer(model) as recognizer:
        caption = Caption(recognizer)
        caption.stream.accept(samples_of("ked_year"))
        watched = weakref.ref(caption)
        gc.collect()
        assert not caption.stream.is_over  # somebody refers to it
        del caption
        gc.collect()
        assert watched() is None
        while recognizer.status().num_streams > 0:  # until the worker has finished its chunk
            gc.collect()


def test_a_finished_stream_is_decoded_although_only_its_callback_refers_to_it(model):
    with runnel.Recognizer(model) as recognizer:
        caption = Caption(recognizer)
        caption.stream.accept(samples_of("ked_year"))
        caption.stream.finish()
        texts, is_over, watched = caption.texts, caption.is_over, weakref.ref(caption)
        del caption
        gc.collect()
        is_over.wait()
        assert texts[-1] == "two zero two six"
        while watched() is not None:  # until the worker has returned from the callback
            gc.collect()


def test_a_recognizer_that_holds_its_streams_is_collected(model):
    class Server(runnel.Recognizer):
        """Refers to a stream, which refers to it."""

    server = Server(model)
    server.stream = server.open()
    watched = weakref.ref(server)
    del server
    gc.collect()
    assert watched() is None


OPEN_PIPE = os.pipe()[0]  # which brings nothing


def python(program, **options):
    """Runs a program in development mode, where warnings are errors; it must succeed."""
    done = run_python("-X", "dev", "-W", "error", "-c", program, MODEL, SAMPLES / "ked_year.flac",
                      timeout=300, **options)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


LIVE = """
import sys, threading, runnel
model = runnel.load(sys.argv[1])
samples = runnel.AudioSource(sys.argv[2], 16000).read()
recognizer = runnel.Recognizer(model, num_threads=2)
began = threading.Event()
streams = [recognizer.open(lambda update: began.set()) for _ in range(8)]
for stream in streams:
    stream.accept_now(samples)
    stream.finish()
"""


FORK = """
import gc, os, sys, threading, runnel
model = runnel.load(sys.argv[1])
samples = runnel.AudioSource(sys.argv[2], 16000).read()
recognizer = runnel.Recognizer(model)
called, polled = recognizer.open(lambda update: None), recognizer.open()
snapshot = polled.snapshot()
{before}
if child := os.fork():
    for stream in (called, polled):
        stream.finish()
    assert list(polled)[-1].is_final
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for use in (recognizer.open, lambda: recognizer.restore(snapshot), recognizer.status,
            lambda: called.accept(samples), lambda: called.accept_now(samples), called.finish,
            called.cancel, called.snapshot, polled.poll, polled.fork, lambda: list(polled)):
    try:
        use()
    except RuntimeError as error:
        assert "was made before fork" in str(error), error
    else:
        raise AssertionError("no error")
"""
# A worker decodes; a child of that moment can do no more than get errors.
BUSY_FORK = FORK.format(before="called.accept(samples)")
# A worker has decoded, and waits for more.
IDLE_FORK = FORK.format(before="""
is_decoded = threading.Event()
decoded = recognizer.open(lambda update: is_decoded.set() if update.is_final else None)
decoded.accept(samples[:9000])
decoded.finish()
is_decoded.wait()
""") + """
assert str(model.transcribe(samples)) == "two zero two six"
with runnel.Recognizer(model) as own:
    stream = own.open()
    stream.accept(samples)
    stream.finish()
    assert list(stream)[-1].is_final
"""


@pytest.mark.parametrize("end", ["", "recognizer.close()", "del called, polled, recognizer",
                                 "called = polled = stream = None; gc.collect()"])
@pytest.mark.parametrize("fork", [BUSY_FORK, IDLE_FORK], ids=["busy", "idle"])
def test_a_child_of_fork_gets_errors_and_ends(fork, end):
    # Python of version 3.12 warns of any fork of a process with threads.
    done = run_python("-W", "ignore::DeprecationWarning", "-c", fork + end, MODEL,
                      SAMPLES / "ked_year.flac", timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("end", [
    "began.wait()", "", "began.wait(); del recognizer", "del streams, stream",
    "began.wait(); sys.exit()"])
def test_the_process_ends_while_streams_are_decoded(end):
    assert python(LIVE + end) == ""


@pytest.mark.parametrize("work", [
    "model.transcribe(samples)", "model.stream().accept(samples)", "runnel.load(sys.argv[1])",
    "model.log_probs(samples)", "list(recognizer.open())", "recognizer.open().poll(1e9)",
    "recognizer.open().accept(numpy.tile(samples, 1000))",
    "runnel.AudioSource('/dev/stdin', 16000).read()"])
def test_the_process_ends_while_a_daemon_thread_is_in_a_call(work):
    program = f"""
import sys, threading, numpy, runnel
model = runnel.load(sys.argv[1])
samples = runnel.AudioSource(sys.argv[2], 16000).read()
recognizer = runnel.Recognizer(model)
began = threading.Event()
def run():
    try:
        while True:
            began.set()
            {work}
    except ValueError as error:
        assert str(error) == "the recognizer is closed", error  # as it is at the end
for _ in range(2):
    threading.Thread(target=run, daemon=True).start()
began.wait()
"""
    assert python(program, stdin=OPEN_PIPE) == ""


def test_an_exception_ends_the_process_with_its_message():
    done = run_python("-c", LIVE + "began.wait(); raise ValueError('the end')", MODEL,
                      SAMPLES / "ked_year.flac", timeout=300)
    assert done.returncode == 1 and done.stderr.endswith("ValueError: the end\n")


def test_memory_does_not_grow():
    """300 rounds of everything leave no more than 100 rounds do; one kept stream takes 0.25 MB."""
    program = """
import sys, gc, runnel
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
model = runnel.load(sys.argv[1])
samples = runnel.AudioSource(sys.argv[2], 16000).read()[:20000]
def play():
    with model.stream(search="beam", nbest=3) as stream:
        stream.accept(samples)
        snapshot = stream.snapshot()
        stream.fork().finish()
        stream.finish()
    model.restore(snapshot).finish()
    try:
        model.restore(snapshot[:-1])
    except runnel.SnapshotError:
        pass
    with runnel.Recognizer(model) as recognizer:
        live = recognizer.open(lambda update: None)
        live.accept(samples)
        polled = recognizer.open()
        polled.accept(samples)
        polled.finish()
        list(polled)
    model.features(samples), model.log_probs(samples)
for _ in range(100):
    play()
before = resident()
for _ in range(300):
    play()
print(resident() - before)
"""
    assert int(python(program)) < 20e6


def test_ctrl_c_interrupts_waiting():
    """SIGINT while a stream is polled, or has no room, raises KeyboardInterrupt."""
    program = """
import sys, threading, _thread, numpy, runnel
recognizer = runnel.Recognizer(runnel.load(sys.argv[1]), max_buffered_s=1)
for wait in (lambda s: s.poll(timeout_s=1e9), lambda s: next(s),
             lambda s: s.accept(numpy.zeros(10**7, numpy.int16))):
    stream = recognizer.open(chunk_size=20)
    threading.Timer(0.2, _thread.interrupt_main).start()
    try:
        wait(stream)
    except KeyboardInterrupt:
        print("interrupted")
"""
    assert python(program) == "interrupted\n" * 3


def test_ctrl_c_interrupts_computing():
    """SIGINT while a call decodes; a stream continues where it was interrupted."""
    program = """
import sys, threading, _thread, numpy, runnel
model = runnel.load(sys.argv[1])
samples = numpy.tile(runnel.AudioSource(sys.argv[2], 16000).read(), 400)
stream = model.stream()
for work in (lambda: stream.accept(samples), lambda: stream.finish(),
             lambda: model.log_probs(samples), lambda: model.transcribe(samples)):
    threading.Timer(0.2, _thread.interrupt_main).start()
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted")
assert stream.num_samples == len(samples) and stream.chunk_ready and stream.finished
"""
    assert python(program) == "interrupted\n" * 4


def test_a_signal_handler_gets_an_error_from_a_stream_in_use():
    """A handler runs within a call of the stream, which would wait for itself."""
    program = """
import signal, sys, numpy, runnel
model = runnel.load(sys.argv[1])
samples = numpy.tile(runnel.AudioSource(sys.argv[2], 16000).read(), 400)
stream, other = model.stream(), model.stream()
errors = []
def handle(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    for use in (lambda: stream.partial, stream.close, lambda: runnel.decode_chunks([other, stream]),
                lambda: other.num_encoder_frames):
        try:
            use()
        except RuntimeError as error:
            errors.append(f"{type(error).__name__}: {error}")
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.2)
stream.accept(samples)
print(len(errors), errors[0])
assert stream.num_samples == len(samples) and stream.partial and not other.partial
"""
    assert python(program) == (
        "3 RuntimeError: a signal handler uses the stream while a call of its thread does; "
        "expected another thread, or after the call\n")

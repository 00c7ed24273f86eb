"""Recognises a WAV file (16 bit, one channel) through librunnel: live.py LIBRARY MODEL WAV"""

import contextlib
import ctypes
import sys
import threading
import wave

UpdateCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class StreamOptions(ctypes.Structure):
    """runnel_stream_options of runtime/c_api.h, as of version 0.2.0."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("chunk_size", ctypes.c_int64),
                ("left_context", ctypes.c_int64), ("sample_rate_hz", ctypes.c_int32),
                ("search", ctypes.c_int32), ("beam_size", ctypes.c_int32),
                ("token_beam", ctypes.c_int32), ("word_list", ctypes.c_void_p),
                ("hotwords", ctypes.c_void_p), ("language_model", ctypes.c_void_p),
                ("language_model_level", ctypes.c_int32),
                ("language_model_weight", ctypes.c_double),
                ("language_model_bonus", ctypes.c_double), ("nbest", ctypes.c_int32),
                ("endpointing", ctypes.c_int32), ("reset_encoder", ctypes.c_int32),
                ("skip_silence", ctypes.c_int32), ("endpoint_silence_s", ctypes.c_double),
                ("endpoint_initial_silence_s", ctypes.c_double),
                ("endpoint_max_utterance_s", ctypes.c_double),
                ("endpoint_blank_probability", ctypes.c_double),
                ("early_text_interval", ctypes.c_int64), ("early_text_padding", ctypes.c_int64),
                ("on_update", UpdateCallback), ("user_data", ctypes.c_void_p),
                ("head", ctypes.c_int32), ("max_symbols", ctypes.c_int32),
                ("ctc_weight", ctypes.c_double), ("rescoring", ctypes.c_int32),
                ("first_pass_weight", ctypes.c_double), ("reverse_weight", ctypes.c_double),
                ("language", ctypes.c_char_p)]


class Runnel:
    """The functions of librunnel; failures raise RuntimeError."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def call(self, name: str, *arguments) -> None:
        """Calls a function that returns a status and takes an error as its last argument."""
        create, message = self.function("error_create"), self.function("error_message")
        create.restype, message.restype = ctypes.c_void_p, ctypes.c_char_p
        error = ctypes.c_void_p(create())  # one per call: no two threads share it
        try:
            if self.function(name)(*arguments, error) != 0:
                raise RuntimeError(message(error).decode())
        finally:
            self.function("error_free")(error)

    def text(self, name: str, handle) -> str:
        """Calls a function that returns a string."""
        function = self.function(name)
        function.restype = ctypes.c_char_p
        return function(handle).decode()

    def function(self, name: str):
        """A new object per use, because its types are set by the caller."""
        return self._library["runnel_" + name]


def main() -> None:
    runnel = Runnel(sys.argv[1])
    model, recognizer, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    with contextlib.ExitStack() as cleanup:
        # Freed in the opposite order in any case, so that no callback runs after Python's end.
        cleanup.callback(runnel.function("model_free"), model)
        cleanup.callback(runnel.function("recognizer_free"), recognizer)
        cleanup.callback(runnel.function("stream_close"), stream)
        runnel.call("model_load", sys.argv[2].encode(), None, ctypes.byref(model))
        runnel.call("recognizer_create", model, None, ctypes.byref(recognizer))

        stable = b""
        over = threading.Event()
        failures = []

        @UpdateCallback
        def on_update(_user_data, _stream, update) -> None:  # runs on a thread of the recognizer
            nonlocal stable
            update = ctypes.c_void_p(update)
            stable += runnel.text("update_stable_text", update).encode()
            text = stable.decode() + runnel.text("update_tentative_text", update)
            if not runnel.function("update_is_final")(update):
                print("partial:", text, flush=True)
                return
            error = runnel.text("update_error", update)
            if error:
                failures.append(error)
            else:
                print(text, flush=True)
            over.set()

        with wave.open(sys.argv[3]) as audio:
            if audio.getsampwidth() != 2 or audio.getnchannels() != 1:
                sys.exit("live.py: expected 16 bit and one channel")
            options = StreamOptions()
            runnel.function("stream_options_init")(ctypes.byref(options),
                                                   ctypes.c_size_t(ctypes.sizeof(options)))
            options.sample_rate_hz = audio.getframerate()
            options.on_update = on_update
            runnel.call("stream_open", recognizer, ctypes.byref(options), ctypes.byref(stream))
            accepted = ctypes.c_size_t()
            while (packet := audio.readframes(1600)) and not over.is_set():
                while packet and not over.is_set():
                    runnel.call("stream_accept_int16", stream, packet,
                                ctypes.c_size_t(len(packet) // 2), ctypes.byref(accepted))
                    packet = packet[2 * accepted.value:]
                    if packet:  # no room at the moment
                        over.wait(0.05)
        runnel.call("stream_finish", stream)
        over.wait()
        if failures:
            sys.exit("live.py: " + failures[0])


if __name__ == "__main__":
    main()

"""Calls stream_server over gRPC as clients of NVIDIA Riva do, with stubs that protoc generates."""

import pathlib
import queue
import shutil
import subprocess
import sys
from typing import Any, Iterable, Iterator, List, Optional, Tuple

import grpc
import pytest

from server_process import Server, cut, pcm16, samples_of
from tool_runner import ROOT
from websocket_client import PATIENCE_S

PROTOS = ROOT / "tools" / "server" / "riva" / "proto"
SERVICE = "nvidia.riva.asr.RivaSpeechRecognition"
SERVING, NOT_SERVING = 1, 2  # of grpc.health.v1


def generate_stubs(folder: pathlib.Path) -> None:
    """Writes the Python modules of the protos into the folder."""
    plugin = shutil.which("grpc_python_plugin")
    assert plugin is not None, "the package protobuf-compiler-grpc is missing"
    subprocess.run(["protoc", f"--proto_path={PROTOS}", f"--python_out={folder}",
                    f"--grpc_python_out={folder}", f"--plugin=protoc-gen-grpc_python={plugin}",
                    *sorted(map(str, PROTOS.glob("*.proto")))], check=True)


@pytest.fixture(scope="session", name="riva")
def riva_stubs(tmp_path_factory: pytest.TempPathFactory) -> "Riva":
    """The generated modules; a test file imports this fixture."""
    folder = tmp_path_factory.mktemp("riva_stubs")
    generate_stubs(folder)
    sys.path.insert(0, str(folder))
    return Riva()


class Riva:
    """The generated modules under short names."""

    def __init__(self) -> None:
        # pylint: disable=import-error,import-outside-toplevel
        import riva_asr_pb2 as asr
        import riva_asr_pb2_grpc
        import riva_audio_pb2 as audio
        self.asr, self.audio, self.stub_type = (
            asr, audio, riva_asr_pb2_grpc.RivaSpeechRecognitionStub)

    def config(self, rate: int = 0, encoding: str = "LINEAR_PCM", **fields: Any) -> Any:
        return self.asr.RecognitionConfig(
            encoding=self.audio.AudioEncoding.Value(encoding), sample_rate_hertz=rate, **fields)

    def first(self, config: Any, interim: bool = False) -> Any:
        return self.asr.StreamingRecognizeRequest(
            streaming_config=self.asr.StreamingRecognitionConfig(
                config=config, interim_results=interim))

    def audio_request(self, content: bytes) -> Any:
        return self.asr.StreamingRecognizeRequest(audio_content=content)

    def requests(self, config: Any, audio: bytes, sizes: Iterable[int] = (3200,),
                 interim: bool = False) -> List[Any]:
        """A whole stream."""
        return [self.first(config, interim), *map(self.audio_request, cut(audio, sizes))]

    def of_sample(self, name: str, **options: Any) -> List[Any]:
        """A stream of a sample recording as 16-bit samples."""
        samples, rate = samples_of(name)
        return self.requests(self.config(rate), pcm16(samples), **options)


def final_text(responses: Iterable[Any]) -> str:
    """The transcripts of the final results, concatenated as clients do."""
    return "".join(result.alternatives[0].transcript for response in responses
                   for result in response.results if result.is_final)


class Call:
    """A streaming call whose messages the test sends one by one."""

    def __init__(self, stub: Any, **options: Any):
        self._requests: "queue.Queue[Any]" = queue.Queue()
        self.responses = stub.StreamingRecognize(iter(self._requests.get, None), **options)

    def send(self, *requests: Any) -> None:
        for request in requests:
            self._requests.put(request)

    def half_close(self) -> None:
        self._requests.put(None)

    def until_text(self) -> Any:
        """Reads up to the first response that has text."""
        return next(response for response in self.responses if response.results)

    def status(self) -> Tuple[str, str]:
        """Reads to the end of the call; the name of its status and the message."""
        try:
            for _ in self.responses:
                pass
        except grpc.RpcError:
            pass
        self.half_close()
        return self.responses.code().name, self.responses.details()


class Client:
    """A channel to a server with --grpc_port, with the stub of the service."""

    def __init__(self, server: Server, riva: Riva, credentials: Optional[Any] = None):
        target = f"localhost:{server.grpc_port}"
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_send_message_length", -1)]
        self.channel = (grpc.insecure_channel(target, options) if credentials is None
                        else grpc.secure_channel(target, credentials, options))
        self.stub = riva.stub_type(self.channel)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.channel.close()

    def call(self, **options: Any) -> Call:
        return Call(self.stub, **options)

    def text(self, requests: Iterable[Any], **options: Any) -> str:
        return final_text(self.stub.StreamingRecognize(iter(requests), timeout=PATIENCE_S,
                                                       **options))

    def health(self, service: str) -> int:
        """The status in HealthCheckResponse, of grpc.health.v1."""
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        field = service.encode()
        response = check(b"\x0a" + bytes([len(field)]) + field, timeout=PATIENCE_S)
        assert response[0] == 0x08 and len(response) == 2
        return response[1]

    def watch_health(self) -> Iterator[int]:
        """The status of the server, whenever it changes."""
        watch = self.channel.unary_stream("/grpc.health.v1.Health/Watch")
        return (response[1] for response in watch(b"", timeout=PATIENCE_S))


def refusal(call: Any) -> Tuple[str, str]:
    """Name of the status and message of a call that fails."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name, caught.value.details()

"""Web pages of other origins."""

import pytest

from server_process import FILES, LONGEST, TEXTS, Server, speak
from websocket_client import Refused, request

PAGE = "https://app.example.org"


@pytest.fixture(scope="module", name="server")
def _server():
    with Server(f"--allow_origin={PAGE}") as server:
        yield server


def headers(server, origin, host=None):
    return {"Origin": origin, "Host": host or f"127.0.0.1:{server.port}"}


def post(server, **lines):
    return request(server.port, "/v1/recognize", "POST", FILES[LONGEST].read_bytes(), **lines)


@pytest.mark.parametrize("origin, host", [
    ("https://evil.example", None), ("null", None), ("http://127.0.0.1:1", None),
    ("http://evil.example", "evil.example")],  # a name that means this machine
    ids=["page", "file", "port", "rebinding"])
def test_other_pages_are_refused(server, origin, host):
    before = server.rejections("origin")
    with pytest.raises(Refused) as refused:
        server.open(headers=headers(server, origin, host))
    assert refused.value.status == 403 and refused.value.code == "origin_not_allowed"
    answer = post(server, headers=headers(server, origin, host))
    assert answer.status == 403 and origin in answer.json()["error"]["message"]
    assert "access-control-allow-origin" not in answer.headers
    assert server.rejections("origin") == before + 2
    # The log has one line of this kind in a second.
    server.wait_for(lambda _: any("may not use this server" in line for line in server.log))
    assert server.get("/healthz", headers=headers(server, origin, host)).status == 200


@pytest.mark.parametrize("target, host, origin, status", [
    ("{own}", "evil.example", "http://{own}", 200),
    ("{own}", "evil.example", "http://evil.example", 403),
    ("evil.example", "{own}", "http://{own}", 403),
    ("evil.example", "{own}", "http://evil.example", 403)],  # a name that means this machine
    ids=["own", "host", "target", "rebinding"])
def test_the_host_of_a_url_counts(server, target, host, origin, status):
    target, host, origin = (text.format(own=f"127.0.0.1:{server.port}")
                            for text in (target, host, origin))
    answer = request(server.port, f"http://{target}/v1/recognize", "POST",
                     FILES[LONGEST].read_bytes(), headers={"Host": host, "Origin": origin})
    assert answer.status == status


def test_own_and_listed_pages_are_served(server):
    for origin in f"http://127.0.0.1:{server.port}", PAGE:
        with server.open(headers=headers(server, origin)) as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]
        answer = post(server, headers=headers(server, origin))
        assert answer.status == 200 and answer.json()["text"] == TEXTS[LONGEST]
        listed = answer.headers.get("access-control-allow-origin")
        assert listed == (PAGE if origin == PAGE else None)


def test_preflight(server):
    asked = {"Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "authorization,content-type"}
    answer = server.get("/v1/audio/transcriptions", method="OPTIONS",
                        headers={**headers(server, PAGE), **asked})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "authorization,content-type"
    assert "access-control-allow-private-network" not in answer.headers
    private = server.get("/v1/recognize", method="OPTIONS", headers={
        **headers(server, PAGE), **asked, "Access-Control-Request-Private-Network": "true"})
    assert private.headers["access-control-allow-private-network"] == "true"
    other = server.get("/v1/audio/transcriptions", method="OPTIONS",
                       headers={**headers(server, "https://evil.example"), **asked})
    assert other.status == 405 and "access-control-allow-origin" not in other.headers


def test_a_page_with_the_token_was_given_it(tmp_path):
    (tmp_path / "token").write_text("secret")
    with Server(f"--bearer_token_file={tmp_path / 'token'}") as server:
        with pytest.raises(Refused) as refused:
            server.open(headers=headers(server, PAGE))
        assert refused.value.status == 401
        with server.open(target="/?token=secret", headers=headers(server, PAGE)) as socket:
            assert speak(socket, LONGEST) == TEXTS[LONGEST]


def test_names_behind_a_proxy():
    with Server("--trusted_proxy=127.0.0.1") as server:
        for host in {"Host": "asr.example.org"}, {"X-Forwarded-Host": "asr.example.org"}:
            with server.open(headers={"Origin": "https://asr.example.org", **host}):
                pass

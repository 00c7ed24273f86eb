#!/usr/bin/python3
"""Runs a container image without a container engine: try_image.py LAYOUT:TAG, as root.

Unpacks the image, starts its server as its configuration says, on a free port, and has a client in
the image send a recording.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Enters a root with the folders that container engines mount, which nothing outside sees.
ENTER = """for folder in proc sys; do mount --rbind /$folder "$0/$folder"; done
exec chroot "$@" """
SAMPLES = "/usr/share/runnel/models/digits/samples"


def try_image(image: str, bundle: pathlib.Path) -> None:
    """Ends with one line when the image does not do what it should."""
    subprocess.run(["umoci", "unpack", "--image", image, bundle], check=True)
    process = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["process"]
    root, user = bundle / "rootfs", process["user"]
    inside = ["unshare", "--mount", "sh", "-ec", ENTER, root,
              f"--userspec={user['uid']}:{user['gid']}", root,
              "/usr/bin/env", "--ignore-environment", *process["env"]]
    with subprocess.Popen([*inside, *process["args"], "--port=0"], text=True,
                          stdout=subprocess.PIPE) as server:
        try:
            line = server.stdout.readline()
            url = re.search(r"\((ws:.*)\)$", line)
            if url is None:
                sys.exit(f"try_image: the server of {image} printed {line!r}, expected its address")
            text = subprocess.run([*inside, "stream_client", f"--server={url[1]}/", "--speed=0",
                                   f"--wav={SAMPLES}/ked_year.flac"],
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
        finally:
            server.terminate()
    if server.returncode != 0:
        sys.exit(f"try_image: the server of {image} ended with {server.returncode}, expected 0")
    expected = (root / SAMPLES[1:] / "text").read_text(encoding="utf-8").splitlines()
    if text.rstrip("\n") not in expected:
        sys.exit(f"try_image: the server of {image} sent {text!r}, expected one of {expected}")
    print(f"try_image: the server of {image}, as user {user['uid']}, sent {text.strip()!r}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        try_image(sys.argv[1], pathlib.Path(folder) / "bundle")

"""tools/deploy and docs/deploy.md, checked against the programs and against each other."""

import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree
from typing import Any, Dict, Iterator, List, Set, Tuple

import pytest
import yaml

from cluster_processes import GUARD_SECONDS, server_flags
from kubernetes_schema import mistakes_of_object
from server_process import Server, make_certificate
from tool_runner import BIN, DIGITS, ROOT, SAMPLES, SAMPLE_LIST, SUCCESS, USAGE, succeed

DEPLOY = ROOT / "tools" / "deploy"
DOCUMENT = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
TOOLS = ["decode_wav", "load_client", "stream_client", "stream_server"]


@pytest.fixture(name="help_flags", scope="module")
def help_flags_fixture() -> Dict[str, Set[str]]:
    """The flags of every tool, as its --help lists them."""
    return {tool: set(re.findall(r"^  --(\w+)", succeed(tool, "--help"), re.MULTILINE))
            | {"help"} for tool in TOOLS}


def flags_in(words: List[str]) -> Dict[str, str]:
    """--name=value -> {name: value}."""
    return dict(word[2:].split("=", 1) if "=" in word else (word[2:], "")
                for word in words if word.startswith("--"))


def objects() -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Every Kubernetes object with the name of its file."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        if path.name != "prometheus_adapter_values.yaml":
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                yield path.name, document


def kinds() -> Dict[Tuple[str, str], Dict[str, Any]]:
    """The objects by kind and name, of which each is there once."""
    found = {}
    for _, document in objects():
        key = (document["kind"], document["metadata"]["name"])
        assert key not in found
        found[key] = document["spec"]
    return found


def container_of(deployment: Dict[str, Any]) -> Dict[str, Any]:
    """Its only container."""
    containers = deployment["template"]["spec"]["containers"]
    assert len(containers) == 1
    return containers[0]


# HAProxy

def test_haproxy_accepts_the_configuration(tmp_path):
    for environment in {}, {"RUNNEL_LISTEN": ":8443", "RUNNEL_SERVER_1": "10.0.0.1:8080",
                            "RUNNEL_HAPROXY_SOCKET": str(tmp_path / "a.sock")}:
        done = subprocess.run(["haproxy", "-c", "-f", str(DEPLOY / "haproxy.cfg")],
                              env={**os.environ, **environment}, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stdout + done.stderr, done.stderr


def test_haproxy_accepts_the_lines_that_are_commented_out(tmp_path):
    """Those with which TLS ends at HAProxy."""
    pem = tmp_path / "runnel.pem"
    pem.write_text("".join(path.read_text() for path in make_certificate(tmp_path)))
    text = (DEPLOY / "haproxy.cfg").read_text()
    lines = re.findall(r"^    # ((?:bind :|http-request redirect|http-response set).*)$", text,
                       re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        text = text.replace("# " + line, line)
    config = tmp_path / "haproxy.cfg"
    config.write_text(text.replace("/etc/haproxy/runnel.pem", str(pem)))
    done = subprocess.run(["haproxy", "-c", "-f", str(config)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


# Kubernetes

def test_manifests_have_the_fields_of_the_api():
    found = [f"{name}: {mistake}" for name, document in objects()
             for mistake in mistakes_of_object(document)]
    assert not found, "\n".join(found)
    assert len(list(objects())) == 8


@pytest.mark.parametrize("path, value, mistake", [
    (["spec", "template", "spec", "containers", 0, "livenesProbe"], {}, "livenesProbe is unknown"),
    (["spec", "selector"], {}, "Deployment.spec.selector.matchLabels is missing"),
    (["spec", "template", "spec", "containers"], [], "containers is no list"),
    (["spec", "template", "spec", "containers", 0, "args", 0], 8080, "args[0] is 8080"),
    (["spec", "template", "spec", "containers", 0, "resources", "limits", "memory"], "2 GB",
     "memory is '2 GB'"),
    (["metadata", "name"], "Runnel", "name is 'Runnel'"),
    (["apiVersion"], "apps/v1beta1", "is no known kind"),
])
def test_the_check_of_manifests_finds_mistakes(path, value, mistake):
    document = next(d for _, d in objects() if d["kind"] == "Deployment"
                    and d["metadata"]["name"] == "runnel")
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert any(mistake in found for found in mistakes_of_object(document))


def test_manifests_refer_to_each_other():
    found = kinds()
    pods = {name: spec["template"] for (kind, name), spec in found.items()
            if kind == "Deployment"}
    for (kind, name), spec in found.items():
        if kind == "Deployment":
            labels = spec["template"]["metadata"]["labels"]
            assert spec["selector"]["matchLabels"].items() <= labels.items()
            pod = spec["template"]["spec"]
            mounted = {mount["name"] for mount in container_of(spec).get("volumeMounts", [])}
            assert mounted == {volume["name"] for volume in pod.get("volumes", [])}
            ports = {port["name"] for port in container_of(spec)["ports"]}
            for probe in "startupProbe", "readinessProbe", "livenessProbe":
                check = container_of(spec).get(probe)
                if check is not None:
                    assert (check.get("httpGet") or check["tcpSocket"])["port"] in ports
        elif kind == "Service":
            ports = {port["name"] for port in container_of(found["Deployment", name])["ports"]}
            assert {port["targetPort"] for port in spec["ports"]} <= ports
        selectors = {"Service": [spec.get("selector")],
                     "PodDisruptionBudget": [spec.get("selector", {}).get("matchLabels")],
                     "NetworkPolicy": [spec.get("podSelector", {}).get("matchLabels")]}
        for selector in selectors.get(kind, []):
            assert selector.items() <= pods[name]["metadata"]["labels"].items(), (kind, name)
    target = found["HorizontalPodAutoscaler", "runnel"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) in found
    policy = found["NetworkPolicy", "runnel-redis"]["ingress"][0]
    assert policy["from"][0]["podSelector"]["matchLabels"].items() <= \
        pods["runnel"]["metadata"]["labels"].items()
    # What the autoscaler counts is the adapter's, and a scaled Deployment says no number itself.
    rule, = yaml.safe_load((DEPLOY / "kubernetes" / "prometheus_adapter_values.yaml").read_text())[
        "rules"]["custom"]
    metric, = found["HorizontalPodAutoscaler", "runnel"]["metrics"]
    assert metric["pods"]["metric"]["name"] == rule["name"]["as"] == "runnel_streams"
    assert rule["seriesQuery"].startswith("runnel_streams{")
    assert "replicas" not in found["Deployment", "runnel"]


def test_server_manifest_fits_the_server(help_flags):
    deployment = kinds()["Deployment", "runnel"]
    pod, container = deployment["template"]["spec"], container_of(deployment)
    flags = flags_in(container["args"])
    assert len(flags) == len(container["args"]) and flags.keys() <= help_flags["stream_server"]
    assert int(flags["port"]) == container["ports"][0]["containerPort"]
    annotations = deployment["template"]["metadata"]["annotations"]
    ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
    assert ports == {"http": flags["port"], "admin": flags["admin_port"]}
    assert annotations["prometheus.io/port"] == flags["admin_port"]
    for probe in "startupProbe", "readinessProbe", "livenessProbe":
        assert container[probe]["httpGet"]["port"] == "admin"
    assert [port["targetPort"] for port in kinds()["Service", "runnel"]["ports"]] == ["http"]
    assert int(flags["max_streams_per_address"]) > 0 < int(flags["max_connections_per_address"])
    before = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] >= before + int(flags["drain_timeout_s"]) + 10
    redis = kinds()["Service", "runnel-redis"]["ports"][0]["port"]
    assert flags["snapshot_store"] == f"redis://runnel-redis:{redis}/0"
    assert flags["bearer_token_file"].startswith(container["volumeMounts"][0]["mountPath"] + "/")
    target = kinds()["HorizontalPodAutoscaler", "runnel"]["metrics"][0]["pods"]["target"]
    assert 0.5 <= int(target["averageValue"]) / int(flags["max_streams"]) <= 0.8
    assert flags["num_threads"] == container["resources"]["requests"]["cpu"]
    for other in kinds().values():
        if "template" in other:
            assert container_of(other)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert other["template"]["spec"]["securityContext"]["runAsNonRoot"] is True


def test_policies_open_the_ports_that_are_served():
    found = kinds()
    container = container_of(found["Deployment", "runnel"])
    policy = found["NetworkPolicy", "runnel"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    clients, metrics = policy["ingress"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert "from" not in clients and clients["ports"] == [
        {"protocol": "TCP", "port": ports["http"]}]
    assert "from" in metrics and metrics["ports"] == [{"protocol": "TCP", "port": ports["admin"]}]
    redis, names = policy["egress"]
    assert redis["ports"] == found["NetworkPolicy", "runnel-redis"]["ingress"][0]["ports"]
    labels = found["Deployment", "runnel-redis"]["template"]["metadata"]["labels"]
    assert redis["to"][0]["podSelector"]["matchLabels"].items() <= labels.items()
    assert {port["port"] for port in names["ports"]} == {53}


def test_secrets_are_those_of_the_document():
    used = {(reference["name"], reference["key"])
            for _, document in objects() if document["kind"] == "Deployment"
            for variable in container_of(document["spec"]).get("env", [])
            for reference in [variable["valueFrom"]["secretKeyRef"]]}
    for volume in kinds()["Deployment", "runnel"]["template"]["spec"]["volumes"]:
        for item in volume.get("secret", {}).get("items", []):
            used.add((volume["secret"]["secretName"], item["key"]))
    line = next(line for line in DOCUMENT.splitlines() if "create secret generic" in line)
    keys = re.findall(r"--from-literal=([\w-]+)=", line)
    assert {("runnel-secrets", key) for key in keys} == used
    assert "create secret generic runnel-secrets " in line


# Docker, systemd, Prometheus

def test_dockerfile(help_flags):
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert {line.split()[0] for line in lines} <= known
    bases = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert bases == ["debian:12", "debian:12-slim"]
    for script in re.findall(r"tools/\S+\.sh", "\n".join(lines)):
        assert (ROOT / script).is_file(), script
    command = yaml.safe_load(lines[-1].split(" ", 1)[1])
    flags = flags_in(command)
    # The image that is made without Docker runs the same.
    script = (DEPLOY / "packages" / "image.sh").read_text()
    assert re.findall(r"--config\.cmd=(\S+)", script) == command
    assert re.findall(r"--config\.entrypoint=(\S+)", script) == ["stream_server"]
    for name, value in ("user", "USER"), ("exposedports", "EXPOSE"):
        assert [f"{value} {found}" for found in re.findall(rf"--config\.{name}=(\S+)", script)] == [
            line for line in lines if line.startswith(value)]
    assert flags.keys() <= help_flags["stream_server"]
    assert f"EXPOSE {flags['port']}" in lines
    assert flags["model"] == f"/usr/share/runnel/{(DIGITS / 'digits.pt').relative_to(ROOT)}"
    assert f"--time {int(flags['drain_timeout_s']) + 10}" in text


def test_service(help_flags, tmp_path):
    text = (DEPLOY / "runnel.service.in").read_text()
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).split()
    assert command[0] == "@CMAKE_INSTALL_FULL_BINDIR@/stream_server"
    assert command[-1] == "$RUNNEL_FLAGS"  # last, so that its flags replace the others
    flags = flags_in(command)
    assert flags.keys() <= help_flags["stream_server"] and len(flags) == len(command) - 2
    model = flags["model"].replace("@CMAKE_INSTALL_FULL_DATADIR@/runnel", str(ROOT))
    assert pathlib.Path(model).is_file()
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE).group(1))
    assert stop >= int(flags["drain_timeout_s"]) + 10
    # The watchdog and the limits; whether they can be set is checked below.
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert settings["Type"] == "notify" and int(settings["WatchdogSec"]) > 10
    assert settings["Restart"] == "on-failure" and settings["StartLimitIntervalSec"] == "0"
    assert settings["ProtectSystem"] == "strict" and settings["CapabilityBoundingSet"] == ""
    for name in "MemoryHigh", "MemoryMax", "TasksMax", "PrivateUsers":
        assert settings[name], name
    assert settings["ProcSubset"] == "all"  # /proc/cpuinfo
    assert settings["SystemCallFilter"] == "~@resources @privileged"
    user = re.search(r"^User=(.*)$", text, re.MULTILINE).group(1)
    assert f"\nu {user} - " in (DEPLOY / "runnel.sysusers").read_text()
    variable, file = re.search(r"'(\w+)=\"--.*\"' \| sudo tee (\S+)$", DOCUMENT,
                               re.MULTILINE).groups()
    assert command[-1] == "$" + variable and f"EnvironmentFile=-{file}\n" in text
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "runnel.service"
        unit.write_text(text.replace(command[0], str(BIN / "stream_server")))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "runnel.service" not in done.stderr, done.stderr


def test_server_is_hardened():
    """Tables of functions are read-only, stacks and calls of the C library are checked."""
    def readelf(option: str) -> str:
        return subprocess.run(["readelf", "--wide", option, str(BIN / "stream_server")],
                              capture_output=True, text=True, check=True).stdout
    assert re.search(r"\(FLAGS_1\).* NOW( |$)", readelf("--dynamic"), re.MULTILINE)
    assert re.search(r"\(FLAGS_1\).* PIE( |$)", readelf("--dynamic"), re.MULTILINE)
    assert " GNU_RELRO " in readelf("--program-headers")
    assert not re.search(r" GNU_STACK .* RWE ", readelf("--program-headers"))
    names = readelf("--dyn-syms")
    assert " __stack_chk_fail@" in names and re.search(r" __\w+_chk@GLIBC", names)


def test_alerts_ask_for_metrics_that_exist():
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    with Server() as server, server.open() as websocket:
        websocket.send_text("{")  # a series of errors begins with the first
        websocket.close_code()
        metrics = server.metrics()
    series = set(metrics)
    for rule in rules:
        assert {"alert", "expr", "for", "labels", "annotations"} == rule.keys()
        assert f"| {rule['alert']} |" in DOCUMENT
        for name, labels in re.findall(r"\b((?:runnel|process)_\w+)(?:{([^}]*)})?", rule["expr"]):
            assert any(found.split("{")[0] == name for found in series), name
            for label, values in re.findall(r'(\w+)=~"([^"]*)"', labels):
                for value in values.split("|") if label != "code" else []:
                    assert f'{name}{{{label}="{value}"}}' in series, value
    documented = set(re.findall(r"^\| (Runnel\w+) \|", DOCUMENT, re.MULTILINE))
    assert documented == {rule["alert"] for rule in rules}


def test_prometheus_asks_every_server_that_haproxy_has():
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    assert all((DEPLOY / name).is_file() for name in config["rule_files"])
    job, = config["scrape_configs"]
    proxied = re.findall(r"^ +server server\d+ .*?(127\.0\.0\.1:\d+)",
                         (DEPLOY / "haproxy.cfg").read_text(), re.MULTILINE)
    assert len(proxied) == 3 and job["static_configs"] == [{"targets": proxied}]


def test_avahi_announces_the_documented_port():
    group = xml.etree.ElementTree.parse(DEPLOY / "wyoming.service").getroot()
    assert group.findtext("service/type") == "_wyoming._tcp"  # Home Assistant's
    assert f"--wyoming_port={group.findtext('service/port')}" in DOCUMENT


# Slurm and the document

def blocks(section: str) -> List[List[str]]:
    """The commands of a section of the document, by block."""
    text = re.search(rf"^## {section}$(.*?)(?=^## |\Z)", DOCUMENT,
                     re.MULTILINE | re.DOTALL).group(1)
    return [block.strip().splitlines()
            for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def run_line(line: str, folder: pathlib.Path, **variables: str) -> subprocess.CompletedProcess:
    """Runs a line of the document as it stands, but for where the programs and results are."""
    line = line.replace("build/bin", str(BIN)).replace("build/texts", str(folder / "texts"))
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=GUARD_SECONDS,
                          env={**os.environ, "HOME": str(folder), **variables})


def test_bulk_commands_of_the_document(tmp_path):
    (fastest,), (make_folder, parallel), (join,), (batch,) = blocks("Bulk decoding")
    expected = (SAMPLES / "text").read_text(encoding="utf-8")
    done = run_line(fastest, tmp_path)
    assert done.stdout == expected, done.stderr
    (tmp_path / ".parallel").mkdir()
    (tmp_path / ".parallel" / "will-cite").touch()
    for line in make_folder, parallel, parallel:
        done = run_line(line, tmp_path)
        assert done.returncode == 0, done.stderr
    done = run_line(join, tmp_path)
    assert done.stdout == expected, done.stderr
    # The same by Slurm's array, task by task, without Slurm.
    array = re.search(r"sbatch --array=(\d+)-(\d+) (.*)", batch)
    first, last, script = int(array.group(1)), int(array.group(2)), array.group(3)
    assert "texts" in script and script.startswith("tools/deploy/decode_array.sh ")
    last = 3  # as many parts as before
    for task in range(first, last + 1):
        done = run_line(script, tmp_path / "slurm", RUNNEL_DECODE_WAV=str(BIN / "decode_wav"),
                        SLURM_CPUS_PER_TASK="2", SLURM_ARRAY_TASK_ID=str(task),
                        SLURM_ARRAY_TASK_MIN=str(first), SLURM_ARRAY_TASK_MAX=str(last),
                        SLURM_ARRAY_TASK_COUNT=str(last - first + 1))
        assert done.returncode == 0, done.stderr
    done = run_line(join, tmp_path / "slurm")
    assert done.stdout == expected, done.stderr


def test_slurm_script_says_how_it_is_used():
    done = subprocess.run([str(DEPLOY / "decode_array.sh"), "model"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == USAGE and done.stderr.startswith("usage: sbatch --array=")


def test_first_commands_of_the_document(tmp_path):
    (start,), asking, _, _ = blocks("One server")
    assert start.startswith("build/bin/stream_server ")
    with Server(*server_flags(start)) as server:
        outputs = []
        for line in asking:
            done = run_line(line.replace(":8080", f":{server.port}"), tmp_path)
            assert done.returncode == SUCCESS, done.stderr
            outputs.append(done.stdout)
    assert outputs[0] == "ready\n"
    for output in outputs[1:]:
        assert "two zero two six" in output


def test_flags_and_files_of_the_document_exist(help_flags):
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```", DOCUMENT,
                                             re.MULTILINE | re.DOTALL)
                for line in block.splitlines()]
    assert len(commands) > 20
    for line in commands:
        for tool in TOOLS:
            if f"build/bin/{tool} " in line:
                words = line[line.index(f"build/bin/{tool} "):].split()
                assert flags_in(words).keys() <= help_flags[tool], line
        for path in re.findall(r"(?<![\w/.=])((?:tools|models|docs)/[\w./-]+)", line):
            assert (ROOT / path).exists(), path
    for flag in re.findall(r"`--(\w+)[=`]", DOCUMENT):
        known = set.union(*help_flags.values()) | {"maxmemory", "nbest", "sshlogin", "array"}
        assert flag in known, flag
    for link in re.findall(r"\]\(([^)#]+)", DOCUMENT):
        assert (ROOT / "docs" / link).exists(), link


def test_sample_list_is_where_the_document_says():
    assert SAMPLE_LIST.relative_to(ROOT).as_posix() in DOCUMENT

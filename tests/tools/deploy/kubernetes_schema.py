"""The part of the Kubernetes API (1.25 and later) that tools/deploy/kubernetes uses.

Written from the API reference. A field that is not named here is an error, as it is for a server
that validates strictly; "!" marks what the API requires.
"""

import re
from typing import Any, Callable, Dict, List, Union

Schema = Union[Dict[str, Any], List[Any], Callable[[Any], bool]]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_name(value: Any) -> bool:
    """A DNS label, as names of objects and containers are."""
    return is_text(value) and re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value) is not None


def is_port_name(value: Any) -> bool:
    return is_name(value) and len(value) <= 15


def is_port(value: Any) -> bool:
    return is_number(value) and 1 <= value <= 65535


def is_any_port(value: Any) -> bool:
    return is_port(value) or is_port_name(value)


def is_quantity(value: Any) -> bool:
    """Amounts as text: what YAML reads as a number would be legal too, but is easily wrong."""
    return is_text(value) and re.fullmatch(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?",
                                           value) is not None


def is_labels(value: Any) -> bool:
    return isinstance(value, dict) and all(is_text(k) and is_text(v) for k, v in value.items())


def one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values


METADATA = {"name!": is_name, "labels": is_labels, "annotations": is_labels}
SELECTOR = {"matchLabels!": is_labels}
PROBE = {"httpGet": {"path!": is_text, "port!": is_any_port}, "tcpSocket": {"port!": is_any_port},
         "exec": {"command!": [is_text]}, "periodSeconds": is_number, "timeoutSeconds": is_number,
         "failureThreshold": is_number, "initialDelaySeconds": is_number}
AMOUNTS = {"cpu": is_quantity, "memory": is_quantity}
CONTAINER = {
    "name!": is_name, "image!": is_text, "command": [is_text], "args": [is_text],
    "env": [{"name!": is_text, "value": is_text,
             "valueFrom": {"secretKeyRef": {"name!": is_text, "key!": is_text}}}],
    "ports": [{"name": is_port_name, "containerPort!": is_port}],
    "startupProbe": PROBE, "readinessProbe": PROBE, "livenessProbe": PROBE,
    "lifecycle": {"preStop": {"exec": {"command!": [is_text]}}},
    "resources": {"requests": AMOUNTS, "limits": AMOUNTS},
    "securityContext": {"allowPrivilegeEscalation": is_flag, "readOnlyRootFilesystem": is_flag,
                        "capabilities": {"drop": [is_text]}},
    "volumeMounts": [{"name!": is_text, "mountPath!": is_text, "readOnly": is_flag}],
}
POD = {
    "automountServiceAccountToken": is_flag, "terminationGracePeriodSeconds": is_number,
    "securityContext": {"runAsNonRoot": is_flag, "runAsUser": is_number, "runAsGroup": is_number,
                        "fsGroup": is_number,
                        "seccompProfile": {"type!": one_of("RuntimeDefault")}},
    "topologySpreadConstraints": [{"maxSkew!": is_number, "topologyKey!": is_text,
                                   "whenUnsatisfiable!": one_of("DoNotSchedule",
                                                                "ScheduleAnyway"),
                                   "labelSelector": SELECTOR}],
    "containers!": [CONTAINER],
    "volumes": [{"name!": is_name, "emptyDir": {"sizeLimit": is_quantity},
                 "secret": {"secretName!": is_text,
                            "items": [{"key!": is_text, "path!": is_text}]}}],
}
PEERS = [{"podSelector": SELECTOR, "namespaceSelector": {"matchLabels": is_labels}}]
PEER_PORTS = [{"protocol": one_of("TCP", "UDP"), "port": is_any_port}]
POLICY = {"type!": one_of("Pods", "Percent"), "value!": is_number, "periodSeconds!": is_number}
SCALING = {"stabilizationWindowSeconds": is_number, "policies": [POLICY]}

# By apiVersion and kind.
KINDS = {
    ("v1", "Service"): {
        "selector!": is_labels,
        "ports!": [{"name": is_port_name, "port!": is_port, "targetPort": is_any_port}]},
    ("apps/v1", "Deployment"): {
        "replicas": is_number, "selector!": SELECTOR,
        "strategy": {"type": one_of("Recreate", "RollingUpdate"),
                     "rollingUpdate": {"maxUnavailable": is_number, "maxSurge": is_number}},
        "template!": {"metadata!": {"labels!": is_labels, "annotations": is_labels},
                      "spec!": POD}},
    ("policy/v1", "PodDisruptionBudget"): {"maxUnavailable": is_number, "minAvailable": is_number,
                                           "selector!": SELECTOR},
    ("networking.k8s.io/v1", "NetworkPolicy"): {
        "podSelector!": SELECTOR, "policyTypes": [one_of("Ingress", "Egress")],
        "ingress": [{"from": PEERS, "ports": PEER_PORTS}],
        "egress": [{"to": PEERS, "ports": PEER_PORTS}]},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "scaleTargetRef!": {"apiVersion": is_text, "kind!": is_text, "name!": is_text},
        "minReplicas": is_number, "maxReplicas!": is_number,
        "metrics": [{"type!": one_of("Pods"),
                     "pods": {"metric!": {"name!": is_text},
                              "target!": {"type!": one_of("AverageValue"),
                                          "averageValue!": is_quantity}}}],
        "behavior": {"scaleUp": SCALING, "scaleDown": SCALING}},
}


def mistakes(value: Any, schema: Schema, place: str) -> List[str]:
    """What is wrong with `value`, each with its place; nothing when it is right."""
    if callable(schema):
        return [] if schema(value) else [f"{place} is {value!r}"]
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            return [f"{place} is no list"]
        return [m for i, v in enumerate(value) for m in mistakes(v, schema[0], f"{place}[{i}]")]
    if not isinstance(value, dict):
        return [f"{place} is no object"]
    fields = {name.rstrip("!"): inner for name, inner in schema.items()}
    found = [f"{place}.{name[:-1]} is missing" for name in schema
             if name.endswith("!") and name[:-1] not in value]
    for name, inner in value.items():
        if name not in fields:
            found.append(f"{place}.{name} is unknown")
        else:
            found += mistakes(inner, fields[name], f"{place}.{name}")
    return found


def mistakes_of_object(value: Any) -> List[str]:
    """The same for a whole document."""
    kind = (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else None
    if kind not in KINDS:
        return [f"{kind} is no known kind"]
    schema = {"apiVersion!": is_text, "kind!": is_text, "metadata!": METADATA, "spec!": KINDS[kind]}
    return mistakes(value, schema, kind[1])

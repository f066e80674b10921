# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents that docs/containers.md shows, read by a parser of YAML."""

import re
from pathlib import Path

from steps import ROOT
from yamltext import parsed

CONTAINERS = ROOT / "docs/containers.md"


def blocks(language: str, page: Path = CONTAINERS) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_pod() -> None:
    """The sample asks for whole CPUs, no more rights than needed, and the device."""
    pods = [parsed(block) for block in blocks("yaml")]
    pod = next(document for document in pods if document.get("kind") == "Pod")
    assert pod["apiVersion"] == "v1" and pod["metadata"]["name"]
    (container,) = pod["spec"]["containers"]
    resources = container["resources"]
    # Guaranteed, and a whole number: what the static policy gives CPUs of their own.
    assert resources["requests"] == resources["limits"]
    assert str(resources["limits"]["cpu"]).isdigit() and resources["limits"]["memory"]
    security = container["securityContext"]
    assert set(security["capabilities"]["add"]) == {"SYS_NICE", "IPC_LOCK"}
    assert security["capabilities"]["drop"] == ["ALL"] and not security.get("privileged")
    assert pod["spec"].get("hostUsers", True), "a user namespace's CAP_SYS_NICE is not enough"
    assert resources["limits"]["isolator.example/device"] == 1


def test_kubelet() -> None:
    """The kubelet's settings are the policy that the page speaks of."""
    documents = [parsed(block) for block in blocks("yaml")]
    kubelet = next(d for d in documents if d.get("kind") == "KubeletConfiguration")
    assert kubelet["apiVersion"] == "kubelet.config.k8s.io/v1beta1"
    assert kubelet["cpuManagerPolicy"] == "static" and kubelet["reservedSystemCPUs"]

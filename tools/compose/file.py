"""docker-compose.yml and its .env, read as Docker Compose reads them."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from runner.checkout import ROOT

PROFILES = {"large": ".env.example", "small": "deploy/small.env"}
VARIABLE = re.compile(r"\$\{(\w+)(?::?([-?])([^}]*))?\}|\$(\$)")
Service = dict[str, Any]


def compose_text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


def example(profile: str) -> dict[str, str]:
    """The variables of a profile's example."""
    return read_env((ROOT / PROFILES[profile]).read_text())


def read_env(text: str) -> dict[str, str]:
    """The variables of a .env file, as a shell would read them."""
    words = [word for line in text.splitlines() for word in shlex.split(line, comments=True)]
    return dict(word.split("=", 1) for word in words)


def services(env: Mapping[str, str], *profiles: str) -> dict[str, Service]:
    """What Compose starts with these profiles. Raises KeyError if a required variable is missing."""

    def value(found: re.Match[str]) -> str:
        name, kind, otherwise, dollar = found.groups()
        if dollar:
            return "$"
        if not env.get(name) and kind != "-":
            raise KeyError(f"{name} is required by docker-compose.yml")
        return env.get(name) or str(otherwise)

    found = yaml.safe_load(VARIABLE.sub(value, compose_text()))["services"]
    active = set(profiles)
    return {
        name: one for name, one in found.items() if active.intersection(one.get("profiles", active))
    }


def in_order(found: Mapping[str, Service]) -> list[str]:
    """The names of services, each after those that it depends on."""
    ordered: list[str] = []

    def add(name: str) -> None:
        for other in found[name].get("depends_on", {}):
            if other in found:
                add(other)
        if name not in ordered:
            ordered.append(name)

    for name in found:
        add(name)
    return ordered


def seconds(text: str) -> float:
    """A duration such as 15s or 1m."""
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]

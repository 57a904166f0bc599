"""Where settings come from: the environment, or files that it names."""

from collections.abc import Mapping
from typing import Any

from environ import FileAwareEnv
from environ.fileaware_mapping import FileAwareMapping


class _Files(FileAwareMapping):
    """As the library reads them, without the line break that editors end a file with."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return value.rstrip("\r\n") if self.env.get(f"{key}_FILE") else value


class Environment(FileAwareEnv):
    """`SECRET_KEY_FILE=/run/secrets/key` is read as SECRET_KEY, and so is every other setting; the file comes first."""

    ENVIRON = _Files()


def postgresql_options(timeouts: Mapping[str, int], **others: str) -> str:
    """What libpq's `options` has to say for a connection to begin with these settings; time-outs in milliseconds."""
    return " ".join(f"-c {name}={value}" for name, value in {**timeouts, **others}.items())

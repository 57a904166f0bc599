"""Figures of the matrix: a line for each part of it as it ends, and the sum at the end."""

from collections import Counter
from typing import Any

import pytest

Part = dict[str, Any]
_parts: list[Part] = []


def _figures(report: pytest.TestReport) -> Part | None:
    found: dict[str, Any] = dict(report.user_properties)
    return found.get("matrix")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    part = _figures(report) if report.when == "call" else None
    if part is not None:
        _parts.append(part)


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config):
    part = _figures(report) if report.when == "call" else None
    if part is None or not config.getoption("--matrix"):
        return None
    cells = sum(part["cells"].values())
    words = f"{part['state']}, {part['change']}: {cells:,} cells, {part['requests']:,} requests"
    words += f", {part['leaks']} leaks, {part['seconds']:.0f} s"
    return report.outcome, words + "\n", f"{report.outcome.upper()} {words}"


def pytest_terminal_summary(terminalreporter) -> None:
    if not _parts:
        return
    cells: Counter[str] = Counter()
    for part in _parts:
        cells.update(part["cells"])
    terminalreporter.section("authorization matrix")
    for kind, number in cells.most_common():
        terminalreporter.write_line(f"{kind:<28}{number:>12,} cells")
    requests, leaks = (sum(part[name] for part in _parts) for name in ("requests", "leaks"))
    terminalreporter.write_line(
        f"{'all':<28}{cells.total():>12,} cells, {requests:,} requests, {leaks:,} leaks,"
        f" {sum(part['seconds'] for part in _parts):.0f} s of work"
    )

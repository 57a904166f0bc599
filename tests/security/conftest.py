"""Figures of the matrix: a line for each part of it as it ends, and the sum at the end."""

from collections import Counter

import pytest

_parts: list[dict] = []


def _figures(report: pytest.TestReport) -> dict | None:
    return next((value for name, value in report.user_properties if name == "matrix"), None)


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
    words = f"{part['state']}, {part['change']}: {cells:,} cells, {part['requests']:,} requests, {part['leaks']} leaks, {part['seconds']:.0f} s"
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
        f"{'all':<28}{cells.total():>12,} cells, {requests:,} requests, {leaks:,} leaks, {sum(part['seconds'] for part in _parts):.0f} s of work"
    )

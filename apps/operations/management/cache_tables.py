"""The tables that `manage cache` prints: nodes, processes, and problems."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from apps.operations.queries import Fleet, NodeStatus
from apps.operations.wording import messages
from feedcache.topology import Topology, problems, warnings

MEGABYTE = 1024 * 1024


def tables(topology: Topology, nodes: Sequence[NodeStatus], processes: Fleet) -> list[Table]:
    return [_node_table(topology, nodes), *([_process_table(processes)] if processes.processes else [])]  # fmt: skip


def troubles(topology: Topology, nodes: Sequence[NodeStatus], processes: Fleet) -> list[str]:
    """Problems to look at, a line each. An unusual size is a remark, not a problem."""
    lines = [f"Wrong: {text}" for text in messages(problems(topology))] if topology.main else []
    lines += [f"Wrong: {node.title} ({node.node.url}): {node.health.error}." for node in nodes if not node.health.is_well]  # fmt: skip
    if processes.processes is None:
        lines.append("Wrong: Redis does not answer; processes keep the version they have.")
    lines += [
        f"Wrong: {process.role} {process.name} runs version {process.version}, not {topology.version}."
        for process in processes.lagging
    ]
    return lines


def remarks(topology: Topology) -> list[str]:
    return messages(warnings(topology)) if topology.main else []


def _node_table(topology: Topology, nodes: Sequence[NodeStatus]) -> Table:
    version = f"version {topology.version}" if topology.version else "the settings"
    table = Table(title=f"Cache topology: {version}", caption="\n".join(remarks(topology)) or None)
    for heading in ("place", "name", "address", "health", "hit rate", "memory", "evictions", "items"):  # fmt: skip
        table.add_column(heading)
    for status in nodes:
        table.add_row(
            status.title, escape(status.node.name), escape(status.node.url), *_figures(status)
        )
    return table


def _figures(status: NodeStatus) -> list[str]:
    health = status.health
    if not health.is_well:
        return [f"[red]down[/red]{_unread(status)}", "", f"{status.node.megabytes} MB", "", ""]
    hit_rate = "" if health.hit_rate is None else f"{health.hit_rate:.1%}"
    memory = f"{health.bytes_used / MEGABYTE:.1f} of {health.max_bytes / MEGABYTE:.0f} MB"
    works = f"[green]works[/green] {health.milliseconds:.1f} ms{_unread(status)}"
    return [works, hit_rate, memory, f"{health.evictions:,}", f"{health.items:,}"]


def _unread(status: NodeStatus) -> str:
    return "" if status.node.is_read else f" ({status.node.state})"


def _process_table(processes: Fleet) -> Table:
    table = Table(title="Processes")
    for heading in ("process", "role", "version"):
        table.add_column(heading)
    for process in processes.processes or []:
        lags = process.version != processes.version
        table.add_row(
            escape(process.name),
            process.role,
            f"[red]{process.version}[/red]" if lags else str(process.version),
        )
    return table

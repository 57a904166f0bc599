"""What `manage cache` prints: the nodes and the processes, and what is wrong with them."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from apps.operations.queries import Fleet, NodeStatus
from apps.operations.wording import said
from feedcache.topology import Topology, problems, warnings

MEGABYTE = 1024 * 1024


def tables(topology: Topology, nodes: Sequence[NodeStatus], processes: Fleet) -> list[Table]:
    """The nodes, then the processes."""
    return [_node_table(topology, nodes), *([_process_table(processes)] if processes.processes else [])]  # fmt: skip


def troubles(topology: Topology, nodes: Sequence[NodeStatus], processes: Fleet) -> list[str]:
    """What somebody should look at, a line each. Unusual sizes are told, and are no trouble of their own."""
    lines = [f"Wrong: {text}" for text in said(problems(topology))] if topology.main else []
    lines += [f"Wrong: {one.title} ({one.node.url}): {one.health.error}." for one in nodes if not one.health.is_well]  # fmt: skip
    if processes.processes is None:
        lines.append("Wrong: Redis does not answer; processes keep the version they have.")
    lines += [
        f"Wrong: {one.role} {one.name} runs version {one.version}, not {topology.version}."
        for one in processes.lagging
    ]
    return lines


def remarks(topology: Topology) -> list[str]:
    """What is unusual."""
    return said(warnings(topology)) if topology.main else []


def _node_table(topology: Topology, nodes: Sequence[NodeStatus]) -> Table:
    version = f"version {topology.version}" if topology.version else "the settings"
    table = Table(title=f"Cache topology: {version}", caption="\n".join(remarks(topology)) or None)
    for heading in ("place", "name", "address", "health", "hit rate", "memory", "evictions", "items"):  # fmt: skip
        table.add_column(heading)
    for one in nodes:
        table.add_row(one.title, escape(one.node.name), escape(one.node.url), *_figures(one))
    return table


def _figures(one: NodeStatus) -> list[str]:
    health = one.health
    if not health.is_well:
        return [f"[red]down[/red]{_unread(one)}", "", f"{one.node.megabytes} MB", "", ""]
    rate = "" if health.hit_rate is None else f"{health.hit_rate:.1%}"
    memory = f"{health.bytes_used / MEGABYTE:.1f} of {health.max_bytes / MEGABYTE:.0f} MB"
    well = f"[green]works[/green] {health.milliseconds:.1f} ms{_unread(one)}"
    return [well, rate, memory, f"{health.evictions:,}", f"{health.items:,}"]


def _unread(one: NodeStatus) -> str:
    return "" if one.node.is_read else f" ({one.node.state})"


def _process_table(processes: Fleet) -> Table:
    table = Table(title="Processes")
    for heading in ("process", "role", "version"):
        table.add_column(heading)
    for one in processes.processes or []:
        lags = one.version != processes.version
        table.add_row(
            escape(one.name), one.role, f"[red]{one.version}[/red]" if lags else str(one.version)
        )
    return table

"""The task that carries out a game day, and the commands with which workers pause and resume."""

from typing import Any

from celery import shared_task
from celery.worker.control import control_command

from apps.gameday import actions
from apps.gameday.models import Run

RUN_SECONDS = actions.SECONDS[1] + int(actions.GRACE.total_seconds())

_paused: list[str] = []  # the queues of this worker, while it takes no messages


@shared_task(soft_time_limit=RUN_SECONDS, time_limit=RUN_SECONDS + 30)
def run(row_id: int) -> None:
    if row := Run.objects.filter(pk=row_id).first():
        actions.carry_out(row)


@control_command(args=[("seconds", float)], signature="<seconds>")
def gameday_pause(state: Any, seconds: float, **_: Any) -> Any:
    """Take no messages for `seconds`. The worker then resumes, even if it gets no `gameday_resume`."""
    consumer = state.consumer
    if not _paused:
        _paused.extend(queue.name for queue in consumer.task_consumer.queues)
        for name in _paused:
            consumer.call_soon(consumer.cancel_task_queue, name)
        consumer.timer.call_after(seconds, _resume, (consumer,))
    return {"ok": "paused"}


@control_command()
def gameday_resume(state: Any, **_: Any) -> Any:
    state.consumer.call_soon(_resume, state.consumer)
    return {"ok": "resumed"}


def _resume(consumer: Any) -> None:
    for name in _paused:
        consumer.add_task_queue(name)
    _paused.clear()

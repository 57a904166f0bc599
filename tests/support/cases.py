"""Many cases in one test, so that the fixtures run once, not once per case."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

MAX_CHARACTERS = 80  # of a value, in the name of a case


def each(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, for tests that need a database; a failing case is reported with its values.

    Every case starts with the rows and the empty caches that the first one found (`case` in conftest), but all share
    the Python objects of the fixtures, so no case may depend on attributes that another may have changed.
    """
    named = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
    rows = [row if len(named) > 1 else (row,) for row in values]

    def decorate(test: Any) -> Any:
        signature = inspect.signature(test)

        @wraps(test)
        def run(*instance: Any, case: Any, **fixtures: Any) -> None:
            for row in rows:
                given = dict(zip(named, row, strict=True))
                with case(**{name: repr(value)[:MAX_CHARACTERS] for name, value in given.items()}):
                    wanted = {**fixtures, "case": case, **given}
                    test(
                        *instance,
                        **{name: wanted[name] for name in signature.parameters if name in wanted},
                    )

        others = [one for name, one in signature.parameters.items() if name not in {*named, "case"}]
        case = inspect.Parameter("case", inspect.Parameter.KEYWORD_ONLY)
        run.__signature__ = signature.replace(parameters=[*others, case])
        return run

    return decorate

"""The planner: a process that plans one statement after the other, and runs none.

What a statement costs to read is spent here, where it can be ended: `python -m
chancery.tabular.planner FD` is the template that planners are forked from. A planner that a
statement made slow or large is not asked again.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Rejected
from chancery.nursery.frames import FrameBroken, read_frames, write_frames
from chancery.nursery.template import serve
from chancery.tabular.labels import declared_texts
from chancery.tabular.plan import gated, plan
from chancery.tabular.plan_forms import conditions_json, conditions_of, plan_json, schemas_of
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_integer, as_object, as_text, texts

REQUEST_BYTES_MAX = 64 * 1024 * 1024
LONG_S = 0.1
"""Fifty times what planning takes; a statement beyond it gives way to those of others."""

LONG_NICENESS = 10
GROWN_BYTES_MAX = 64 * 1024 * 1024
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
_WARM = TableSchema("warm", (column_of("a", "BIGINT"), column_of("b", "VARCHAR")))


def main() -> None:
    """Walk the way of a small statement once, then serve forks until the parent is gone."""
    plan("SELECT sum(a), count(*) FROM warm WHERE b = 'x' GROUP BY b ORDER BY 1", [_WARM])
    serve(int(sys.argv[1]), work)


def work() -> None:
    """Answer one question after the other until nobody asks, or one made this process unfit."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGVTALRM, _step_back)
    begun_bytes = _largest_bytes()
    while True:
        try:
            (frame,) = read_frames(sys.stdin.buffer, bytes_max=REQUEST_BYTES_MAX)
        except FrameBroken:
            return
        found = _answer(as_object(parse_json(frame)))
        ends = _has_stepped_back() or _largest_bytes() - begun_bytes > GROWN_BYTES_MAX
        write_frames(sys.stdout.buffer, [canonical_bytes({**found, "ends": ends})])
        if ends:
            return


def _answer(request: Mapping[str, Json]) -> Mapping[str, Json]:
    _limit(as_integer(request["deadline_ms"]), as_integer(request["address_space_bytes"]))
    signal.setitimer(signal.ITIMER_VIRTUAL, LONG_S)
    try:
        return _found(request)
    except Rejected as error:
        return {"error": error.code, "detail": error.detail, "field": error.field}
    except MemoryError:
        return {"error": "sql_resources"}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _found(request: Mapping[str, Json]) -> Mapping[str, Json]:
    match as_text(request["kind"]):
        case "tables":
            return {"tables": list(gated(as_text(request["sql"])).tables)}
        case "plan":
            return {"plan": plan_json(plan(as_text(request["sql"]), schemas_of(request)))}
        case _:
            (schema,) = schemas_of(request)
            wanted = conditions_of(request["wanted"])
            found = declared_texts(wanted, texts(request["measures"]), schema)
            return {"declared": conditions_json(each for each in wanted if each in found)}


def _limit(deadline_ms: int, address_space_bytes: int) -> None:
    """Bound memory and processor time of what comes, also when the parent is gone.

    Only the soft bound of the processor moves along: what was used before counts in it.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    processor_s = int(used.ru_utime + used.ru_stime) + deadline_ms // 1000 + 2
    _lower(resource.RLIMIT_CPU, processor_s)
    _lower(resource.RLIMIT_AS, address_space_bytes)


def _lower(which: int, wanted: int) -> None:
    _, hard = resource.getrlimit(which)
    bounded = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (bounded, hard))
    except (ValueError, OSError):
        if sys.platform != "darwin":
            raise


def _step_back(_number: int, _frame: object) -> None:
    """Let everything short go first, for good: a lowered priority cannot be raised again."""
    if not _has_stepped_back():
        os.setpriority(os.PRIO_PROCESS, 0, _USUAL + LONG_NICENESS)


def _has_stepped_back() -> bool:
    return os.getpriority(os.PRIO_PROCESS, 0) > _USUAL


def _largest_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


_USUAL = os.getpriority(os.PRIO_PROCESS, 0)

if __name__ == "__main__":
    main()

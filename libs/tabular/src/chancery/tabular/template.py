"""The process that query workers are forked from: `python -m chancery.tabular.template FD`.

It has opened one empty database, in a single thread, and never sees a row: each fork has a database
of its own, which holds nothing of earlier jobs.
"""

from __future__ import annotations

import sys
from functools import partial

from chancery.nursery.template import serve
from chancery.tabular import worker
from chancery.tabular.opening import open_empty, warm_up


def main() -> None:
    """Open the database, then serve forks until the parent is gone."""
    warm_up()
    serve(int(sys.argv[1]), partial(worker.main, open_empty()))


if __name__ == "__main__":
    main()

"""The process that extractions are forked from: `python -m chancery.extract.template FD`.

It has loaded every parser and never sees a document.
"""

from __future__ import annotations

import sys

from chancery.extract import worker
from chancery.nursery.template import serve


def main() -> None:
    """Load what parsers look up by name, then serve forks until the parent is gone."""
    worker.load_codecs()
    serve(int(sys.argv[1]), worker.main)


if __name__ == "__main__":
    main()

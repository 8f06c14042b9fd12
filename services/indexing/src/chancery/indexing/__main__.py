"""Starts indexing: `python -m chancery.indexing`."""

from __future__ import annotations

import sys

from chancery.indexing.app import serve
from chancery.indexing.settings import IndexingSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("indexing", IndexingSettings, serve))

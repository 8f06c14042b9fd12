"""Starts indexing: `python -m chancery.indexing`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.indexing.app import serve
from chancery.indexing.settings import IndexingSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("indexing", IndexingSettings, serve))

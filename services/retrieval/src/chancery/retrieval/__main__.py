"""Starts retrieval: `python -m chancery.retrieval`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.retrieval.app import serve
from chancery.retrieval.settings import RetrievalSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("retrieval", RetrievalSettings, serve))

"""Starts retrieval: `python -m chancery.retrieval`."""

from __future__ import annotations

import sys

from chancery.retrieval.app import serve
from chancery.retrieval.settings import RetrievalSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("retrieval", RetrievalSettings, serve))

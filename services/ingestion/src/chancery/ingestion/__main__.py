"""Starts ingestion: `python -m chancery.ingestion`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.ingestion.app import serve
from chancery.ingestion.settings import IngestionSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("ingestion", IngestionSettings, serve))

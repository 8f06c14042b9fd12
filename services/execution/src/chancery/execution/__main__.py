"""Starts execution: `python -m chancery.execution`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.execution.app import serve
from chancery.execution.settings import ExecutionSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("execution", ExecutionSettings, serve))

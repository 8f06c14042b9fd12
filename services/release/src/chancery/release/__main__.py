"""Starts release: `python -m chancery.release`."""

from __future__ import annotations

import sys

from chancery.release.app import serve
from chancery.release.settings import ReleaseSettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("release", ReleaseSettings, serve))

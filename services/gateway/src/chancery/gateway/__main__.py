"""Starts gateway: `python -m chancery.gateway`."""

from __future__ import annotations

import gc
import sys

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.gateway.app import serve
from chancery.gateway.settings import GatewaySettings
from chancery.runtime.process import start

if __name__ == "__main__":
    sys.exit(start("gateway", GatewaySettings, serve))

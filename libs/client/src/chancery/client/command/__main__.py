"""Runs the command as `python -m chancery.client.command`."""

from __future__ import annotations

from chancery.client.command import main

if __name__ == "__main__":
    main()

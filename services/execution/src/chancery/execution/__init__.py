"""Selects evidence and runs governed SQL; what it proposes is ids and offsets, never text."""

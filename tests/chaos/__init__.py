"""Kills, pauses and partitions parts of a running system."""

"""Plays against the whole system over its public surface."""

"""Writes contracts/ from the code, and finds where the two, or two versions, do not fit."""

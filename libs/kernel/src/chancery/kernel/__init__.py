"""Ids, clock, errors, canonical JSON and hashing: what every other package stands on."""

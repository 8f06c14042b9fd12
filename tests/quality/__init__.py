"""How good the selection of evidence is, measured on public data: `make quality`."""

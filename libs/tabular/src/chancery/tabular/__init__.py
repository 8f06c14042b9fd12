"""Datasets and governed SQL: the gate, lineage and labels, the worker, exact value forms."""

"""`python -m tests.bench`: how fast the whole path is, beside a skeleton of the same hops."""

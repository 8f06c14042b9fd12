"""Load, decide, append: how every command runs, and the first start."""

"""One process for each job, forked from a warm template: the ground of `extract` and `tabular`."""

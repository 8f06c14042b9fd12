"""What execution does: select for a gathered run, and answer questions about datasets."""

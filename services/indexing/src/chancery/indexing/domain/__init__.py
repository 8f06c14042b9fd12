"""What a revision's index state is, and why: pure."""

"""Parts, offsets, quotations, the answer and its receipt: pure, the same bytes for ever."""

"""The edge: authenticates by shape, speaks HTTP and SSE, decides nothing and owns nothing."""

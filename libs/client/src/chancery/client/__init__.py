"""The HTTP client and the `chancery` command: start at `chancery.client.http`."""

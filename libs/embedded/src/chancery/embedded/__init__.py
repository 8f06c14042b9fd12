"""One command, one folder: NATS, PostgreSQL and the services as supervised child processes."""

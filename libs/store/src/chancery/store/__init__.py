"""PostgreSQL and blobs: pools, named SQL, migrations, the outbox, content-addressed bytes."""

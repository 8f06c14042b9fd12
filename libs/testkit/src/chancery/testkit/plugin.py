"""The fixtures that pytest gets: real servers, started once per worker and only when asked for.

`database` is a fresh database with every migration applied, `empty_database` one without any;
`nats_url` is a JetStream server without streams, `provisioned_nats_url` one with the topology;
both may do everything. `nats_access` is the latter with the login of each service, `nats_folder`
its folder, where producers can be added.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from chancery.embedded.steps import provision_topology
from chancery.testkit.folders import in_memory
from chancery.testkit.nats import NatsAccess, delete_streams, running_nats
from chancery.testkit.postgres import (
    Database,
    create_database,
    create_template,
    drop_database,
    running_postgres,
)
from chancery.testkit.servers import ServerSettings, describe, run_apart

FOLDERS_IN = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest makes the folders of a run; who sets it is obeyed."""


def pytest_configure() -> None:
    """Keep the files of the tests in memory where it has room."""
    if (place := in_memory()) is not None:
        os.environ.setdefault(FOLDERS_IN, str(place))  # noqa: TID251 - pytest reads it there.


def pytest_report_header() -> str:
    """Say in one line which servers the tests use."""
    return describe(ServerSettings())


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[NatsAccess]:
    """Yield the logins of this worker's NATS."""
    with running_nats(ServerSettings(), tmp_path_factory.mktemp("nats")) as access:
        yield access


@pytest.fixture
def nats_url(nats_server: NatsAccess) -> Generator[str]:
    """Yield the administrator's URL of a JetStream server; its streams are removed afterwards."""
    yield nats_server.url
    run_apart(delete_streams(nats_server.url))


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Yield the superuser's DSN of this worker's PostgreSQL."""
    with running_postgres(ServerSettings(), tmp_path_factory.mktemp("postgres")) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def template_database(postgres_server: str) -> Generator[Database]:
    """Yield a migrated database to copy; nobody connects to it."""
    template = run_apart(create_template(postgres_server))
    yield template
    run_apart(drop_database(postgres_server, template.name))


@pytest.fixture
def database(postgres_server: str, template_database: Database) -> Generator[Database]:
    """Yield a fresh database with every migration applied."""
    fresh = run_apart(create_database(postgres_server, template=template_database.name))
    yield fresh
    run_apart(drop_database(postgres_server, fresh.name))


@pytest.fixture
def empty_database(postgres_server: str) -> Generator[Database]:
    """Yield a fresh database without any migration."""
    fresh = run_apart(create_database(postgres_server))
    yield fresh
    run_apart(drop_database(postgres_server, fresh.name))


@pytest.fixture
def provisioned_nats_url(nats_url: str) -> str:
    """Return the URL of a JetStream server that has the streams and consumers of the topology."""
    run_apart(provision_topology(nats_url))
    return nats_url


@pytest.fixture
def nats_access(nats_server: NatsAccess, provisioned_nats_url: str) -> NatsAccess:
    """Return the logins of a JetStream server that has the topology and the accounts."""
    assert nats_server.url == provisioned_nats_url
    if not nats_server.has_accounts:
        pytest.skip("the given NATS has no accounts")
    return nats_server


@pytest.fixture
def nats_folder(nats_access: NatsAccess) -> Path:
    """Return the folder of the embedded server that `nats_access` logs in to."""
    if nats_access.folder is None:
        pytest.skip("only the embedded NATS takes new users while it runs")
    return nats_access.folder

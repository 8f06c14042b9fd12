"""What keeps the embedded runtime from starting or running, each with one clear sentence."""

from __future__ import annotations

from chancery.kernel.errors import Corrupt, Rejected, Unavailable


class FolderInUse(Rejected):
    """Another process holds the data folder."""

    code = "folder_in_use"


class FolderNotUsable(Rejected):
    """The data folder cannot be made, read or written."""

    code = "folder_not_usable"


class PortBusy(Rejected):
    """The port is taken or may not be opened."""

    code = "port_busy"


class PortTaken(Unavailable):
    """Another process took the port before the child that it was chosen for could."""

    code = "port_taken"


class ProgramMissing(Rejected):
    """A server program is not installed beside this interpreter."""

    code = "program_missing"


class SecretDamaged(Corrupt):
    """A generated key or password file does not hold what was written there."""

    code = "secret_damaged"


class StartFailed(Unavailable):
    """A child did not come up."""

    code = "start_failed"


class KeepsDying(Unavailable):
    """A child died too often without ever getting ready."""

    code = "keeps_dying"


class NotRunning(Unavailable):
    """What the command works on does not run."""

    code = "not_running"

"""Become another program that dies with its parent, as another account when asked to.

Run as a file, without site packages: `python -I -S launch.py SIGNAL ACCOUNT PROGRAM [ARGUMENT...]`.

SIGNAL is sent to the program when its parent dies (Linux; elsewhere the next start cleans up).
ACCOUNT is `-` for the present one, else `uid:gid:reach`. PostgreSQL refuses to run as root, so root
starts it as an account without rights; `reach` 1 keeps the one capability (DAC_OVERRIDE) that lets
that account pass folders closed to others, such as a home folder, without opening them to anybody.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE = 1


def main(arguments: list[str]) -> None:
    """Switch the account, tie the life to the parent's, and become the program."""
    signal_number, account, *program = arguments
    parent = os.getppid()
    if account != "-":
        uid, gid, reach = (int(part) for part in account.split(":"))
        _become(uid, gid, keep_reach=reach == 1)
    if sys.platform == "linux":
        _call("prctl", _PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
    # A parent that died before the line above sends nothing.
    if os.getppid() != parent:
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606 - a list of arguments, no shell


def _become(uid: int, gid: int, *, keep_reach: bool) -> None:
    if keep_reach:
        _call("prctl", _PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if keep_reach:
        kept = 1 << _CAP_DAC_OVERRIDE
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        # Effective, permitted and inheritable; the upper 32 capabilities stay empty.
        sets = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
        _call("capset", header, sets)
        _call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)


def _call(name: str, *arguments: int | ctypes.Array[ctypes.c_uint32]) -> None:
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Who was granted something: given once, revoked once, sorted."""

from __future__ import annotations

from chancery.authority.rules import require


def granted(grants: tuple[str, ...], grantee: str) -> tuple[str, ...]:
    """Return the grants with one more.

    Raises:
        BrokenRule: it was given before.
    """
    require("a grant is given once", holds=grantee not in grants)
    return tuple(sorted({*grants, grantee}))


def ungranted(grants: tuple[str, ...], grantee: str) -> tuple[str, ...]:
    """Return the grants without one.

    Raises:
        BrokenRule: it was not given.
    """
    require("only a given grant is revoked", holds=grantee in grants)
    return tuple(held for held in grants if held != grantee)

"""`config show`: every setting, where it comes from, and nothing of a secret."""

from __future__ import annotations

import re

from pydantic import SecretStr

from chancery.client.command.output import tell, tell_json
from chancery.client.command.settings import CommandSettings, load_settings
from chancery.kernel.canonical import Json

_EMBEDDED = frozenset({"nats_url", "postgres_dsn", "blobs_url"})
"""Unset, these are the servers and the folder of the system itself."""

_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")


def show_config(*, as_json: bool) -> None:
    """Print the settings of this process."""
    shown = redacted(load_settings())
    if as_json:
        tell_json(shown)
        return
    for name, entry in shown.items():
        tell(f"{name:<32} {entry['value']}  ({entry['from']})")


def redacted(settings: CommandSettings) -> dict[str, dict[str, Json]]:
    """Return each setting's value and origin by variable; secrets and logins are stars."""
    shown: dict[str, dict[str, Json]] = {}
    for name in type(settings).model_fields:
        variable = "OTEL_EXPORTER_OTLP_ENDPOINT" if name == "otlp_endpoint" else f"CHANCERY_{name}"
        origin = "environment" if name in settings.model_fields_set else "default"
        value = _shown(getattr(settings, name))
        if origin == "default" and name in _EMBEDDED:
            value = "embedded"
        shown[variable.upper()] = {"value": value, "from": origin}
    return shown


def _shown(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float):
        return value
    return "***" if isinstance(value, SecretStr) else without_login(str(value))


def without_login(url: str) -> str:
    """Return a URL with stars in place of the login that it carries."""
    return _LOGIN.sub("***@", url)

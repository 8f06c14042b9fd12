"""`config show`: every setting, where it comes from, and nothing of a secret."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from chancery.client.command.output import tell, tell_json
from chancery.client.command.service_settings import load_all
from chancery.client.command.settings import without_login
from chancery.kernel.canonical import Json
from chancery.runtime.settings import ServiceSettings

_EMBEDDED = frozenset({"nats_url", "postgres_dsn", "blobs_url"})
"""Unset, these are the servers and the folder of the system itself."""


def show_config(*, as_json: bool) -> None:
    """Print the settings of this process and of the services that it would start."""
    shown = all_redacted(load_all())
    if as_json:
        tell_json(shown)
        return
    for name, entry in shown.items():
        tell(f"{name:<32} {entry['value']}  ({entry['from']})")


def all_redacted(loaded: Mapping[str, ServiceSettings]) -> dict[str, dict[str, Json]]:
    """Return each setting of anybody, by variable; defaults that differ, with whose they are."""
    told: dict[str, dict[str, dict[str, Json]]] = {}
    for owner, settings in loaded.items():
        for variable, entry in redacted(settings).items():
            told.setdefault(variable, {})[owner] = entry
    return {variable: _together(entries) for variable, entries in told.items()}


def _together(entries: Mapping[str, dict[str, Json]]) -> dict[str, Json]:
    first, *others = entries.values()
    if all(each == first for each in others):
        return first
    values = ", ".join(f"{owner} {entry['value']}" for owner, entry in entries.items())
    return {"value": values, "from": first["from"]}


def redacted(settings: ServiceSettings) -> dict[str, dict[str, Json]]:
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

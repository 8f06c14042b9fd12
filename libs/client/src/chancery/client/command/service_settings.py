"""The settings of every service, by its name: the command stands below the services, as `up` does.

A service that is not installed here has no settings to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

from pydantic import ValidationError

from chancery.client.command.settings import CommandSettings, invalid_settings
from chancery.kernel.errors import ChanceryError
from chancery.runtime.settings import ServiceSettings
from chancery.store.roles import SERVICES


def settings_classes() -> Mapping[str, type[ServiceSettings]]:
    """Return the settings of each service, by its name."""
    found: dict[str, type[ServiceSettings]] = {}
    for service in SERVICES:
        if find_spec(f"chancery.{service}") is None:
            continue
        own = vars(import_module(f"chancery.{service}.settings")).values()
        kinds = [each for each in own if isinstance(each, type) and each is not ServiceSettings]
        found[service] = next(each for each in kinds if issubclass(each, ServiceSettings))
    return found


def load_all() -> Mapping[str, ServiceSettings]:
    """Return what this environment means to the command and to each service.

    Raises:
        InvalidSetting: naming the variable.
    """
    loaded, wrong = read_all()
    if wrong:
        raise wrong[0]
    return loaded


def read_all() -> tuple[Mapping[str, ServiceSettings], list[ChanceryError]]:
    """Return what can be read of this environment, and what of it nobody can use."""
    kinds: dict[str, type[ServiceSettings]] = {"command": CommandSettings, **settings_classes()}
    loaded: dict[str, ServiceSettings] = {}
    wrong: dict[str, ChanceryError] = {}
    for name, kind in kinds.items():
        try:
            loaded[name] = kind()
        except ValidationError as error:
            for each in invalid_settings(error):
                wrong.setdefault(each.field or name, each)
        except ChanceryError as error:
            wrong.setdefault(error.field or name, error)
    return loaded, list(wrong.values())

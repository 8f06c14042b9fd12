"""What the command reads from the environment: a service's settings, and where to call."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError

from chancery.client.command.output import ISSUES_ONE, WrongUsage
from chancery.embedded.folder import HTTP_PORT_FILE, is_held
from chancery.kernel.errors import Rejected
from chancery.runtime.settings import ServiceSettings

TOKEN_FILE = "operator.token"  # noqa: S105 - the name of a file

_TOKEN = re.compile(r"[!-~]+")
_LOGIN = re.compile(r"(?<=://)[^/@\s]*@")


class InvalidSetting(WrongUsage):
    """An environment variable holds something that the setting does not take."""

    code = "invalid_setting"


class NoToken(Rejected):
    """There is no token to call the server with."""

    code = "no_token"


class CommandSettings(ServiceSettings):
    """The settings of the command; `url` and `token` are those of the server it calls.

    `role_password` is what `migrate` gives the roles of all services. `max_upload_bytes` is what
    that server takes at most; it is a setting of the gateway too.
    """

    url: str | None = None
    token: SecretStr | None = None
    role_password: SecretStr | None = None
    max_upload_bytes: int = Field(default=16 * 1024 * 1024, ge=1)


def load_settings() -> CommandSettings:
    """Return the settings of this process.

    Raises:
        InvalidSetting: naming the variable.
    """
    try:
        return CommandSettings()
    except ValidationError as error:
        raise invalid_settings(error)[0] from error


def invalid_settings(error: ValidationError) -> list[InvalidSetting]:
    """Return a refusal for each variable that does not fit, without what it holds."""
    found: list[InvalidSetting] = []
    for each in error.errors(include_input=False):
        name = f"CHANCERY_{each['loc'][0]}".upper()
        message = f"{name} does not hold what it should: {each['msg'].lower()}"
        found.append(InvalidSetting(message, field=name))
    return found


def server_url(settings: CommandSettings) -> str:
    """Return where the server is: as configured, as the data folder says, or here."""
    is_chosen = "http_port" in settings.model_fields_set
    told = None if is_chosen else recorded_url(settings.data_dir)
    return settings.url or told or _local(settings.http_port)


def recorded_url(folder: Path) -> str | None:
    """Return where the system that runs on `folder` answers; None when none runs or is ready.

    What a system that was killed left behind is no such address: the port may be anybody's now.
    """
    if not is_held(folder):
        return None
    try:
        port = int((folder / "run" / HTTP_PORT_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return _local(port)


def _local(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def server_token(settings: CommandSettings) -> str:
    """Return the configured token.

    Raises:
        InvalidSetting: what is configured is no token, or nothing is.
    """
    token = "" if settings.token is None else settings.token.get_secret_value().strip()
    if _TOKEN.fullmatch(token):
        return token
    message = f"CHANCERY_TOKEN holds no token; {ISSUES_ONE}, or unset it for the operator's"
    raise InvalidSetting(message, field="CHANCERY_TOKEN", code=NoToken.code)


def operator_token(folder: Path) -> str:
    """Return the token that the first start left in `folder`.

    Raises:
        NoToken: when it cannot be read, or holds none.
    """
    path = folder / TOKEN_FILE
    remedy = f"{ISSUES_ONE}, or set CHANCERY_DATA_DIR to the folder of a system"
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"CHANCERY_TOKEN is not set and {path} cannot be read; {remedy}"
        raise NoToken(message, field="CHANCERY_TOKEN") from error
    if _TOKEN.fullmatch(token) is None:
        message = f"CHANCERY_TOKEN is not set and {path} holds no token; {remedy}"
        raise NoToken(message, field="CHANCERY_TOKEN")
    return token


def without_login(url: str) -> str:
    """Return a URL with stars in place of the login that it carries."""
    return _LOGIN.sub("***@", url)

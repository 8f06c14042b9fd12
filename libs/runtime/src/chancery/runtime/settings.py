"""What a service is told by its environment: read once, frozen, each secret also from a file.

`CHANCERY_SIGNING_KEY_FILE=/run/secrets/key` sets `signing_key` to the content of that file; this
holds for every setting. Nothing else in a service reads the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from chancery.authority.tokens import key_bytes
from chancery.kernel.errors import Rejected

ENV_PREFIX = "CHANCERY_"
SECRET_FILE_BYTES_MAX = 64 * 1024

Port = Annotated[int, Field(ge=0, le=65535)]
"""A TCP port; 0 takes any free one."""


def process_environment() -> dict[str, str]:
    """Return the environment of this process, for children that inherit it."""
    return dict(os.environ)


class UnreadableSecret(Rejected):
    """A `_FILE` setting names a file that cannot be read."""

    code = "unreadable_secret"


class ServiceSettings(BaseSettings):
    """The settings that every service has; a service adds its own in a subclass.

    `ack_wait_s` None keeps the topology's; `parent_watch` ends the process when its parent dies,
    which is `parent_pid` where that is known, and else the parent at the start.
    """

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="ignore")

    data_dir: Path = Path(".chancery")
    nats_url: str = "nats://127.0.0.1:4222"
    nats_api_prefix: str = "$JS.API"
    postgres_dsn: SecretStr | None = None
    blobs_url: str | None = None
    http_host: str = "127.0.0.1"
    http_port: Port = 8080
    management_host: str = "127.0.0.1"
    management_port: Port = 0
    management_port_file: Path | None = None
    language: str = "en"
    model: str = "extractive"
    signing_key: SecretStr | None = None
    token_key: SecretStr | None = None
    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    )
    spans_file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    ack_wait_s: Annotated[float, Field(gt=0, le=3600)] | None = None
    stop_s: float = Field(default=20.0, gt=0, le=600)
    parent_watch: bool = False
    parent_pid: int | None = Field(default=None, gt=0)

    def require_dsn(self) -> str:
        """Return the connection string of the service's own role.

        Raises:
            Rejected: when it is not set.
        """
        if self.postgres_dsn is None:
            raise _missing("postgres_dsn", "the database of the service's own role")
        return self.postgres_dsn.get_secret_value()

    def require_blobs_url(self) -> str:
        """Return where the blobs are.

        Raises:
            Rejected: when it is not set.
        """
        if self.blobs_url is None:
            raise _missing("blobs_url", "a store, for example file:///var/lib/chancery/blobs")
        return self.blobs_url

    def require_token_key(self) -> bytes:
        """Return the key that credentials' secrets are derived from.

        Raises:
            Rejected: when it is not set or too short.
        """
        if self.token_key is None:
            raise _missing("token_key", "at least 32 characters")
        return key_bytes(self.token_key.get_secret_value())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments first, then the environment, then the files it names."""
        del dotenv_settings, file_secret_settings
        return (init_settings, env_settings, _NamedFiles(settings_cls))


class _NamedFiles(PydanticBaseSettingsSource):
    """Reads `CHANCERY_<SETTING>_FILE`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[str | None, str, bool]:
        """Return the file's content without its last line break."""
        del field
        variable = f"{ENV_PREFIX}{field_name}_FILE".upper()
        path = os.environ.get(variable)
        if path is None or f"{field_name}_file" in self.settings_cls.model_fields:
            return None, field_name, False
        return _read(Path(path), variable), field_name, False

    def __call__(self) -> dict[str, object]:
        """Return what the files say, by field name."""
        found: dict[str, object] = {}
        for name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, name)
            if value is not None:
                found[key] = value
        return found


def _missing(field: str, what: str) -> Rejected:
    variable = f"{ENV_PREFIX}{field}".upper()
    message = f"set {variable}, or {variable}_FILE, to {what}"
    return Rejected(message, field=field, code=f"missing_{field}")


def _read(path: Path, variable: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(SECRET_FILE_BYTES_MAX).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{variable} names a file that cannot be read as text"
        raise UnreadableSecret(message, field=variable) from error

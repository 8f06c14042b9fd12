"""`key show`: the public half of the key that signs receipts, to hand to whoever verifies."""

from __future__ import annotations

from pathlib import Path

from chancery.attest.signing import SigningKey
from chancery.client.command.output import tell, tell_json
from chancery.client.command.settings import load_settings
from chancery.kernel.errors import Rejected

_FILE = "signing.key"


class NoKey(Rejected):
    """There is no signing key to read."""

    code = "no_key"


def show_key(data_dir: Path | None, *, as_json: bool) -> None:
    """Print the public key in hex; nothing of the private one."""
    settings = load_settings()
    if data_dir is None and settings.signing_key is not None:
        key = SigningKey.from_hex(settings.signing_key.get_secret_value())
    else:
        key = SigningKey.from_hex(_read((data_dir or settings.data_dir) / _FILE))
    if as_json:
        tell_json({"public_key": key.public_key.hex(), "key_id": key.key_id})
    else:
        tell(key.public_key.hex())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read; name the data folder of the system with --data-dir"
        raise NoKey(message, field="data_dir") from error

"""`config show` leaves no setting out, and `doctor` finds those that nobody can use."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from chancery.client.command.config import all_redacted
from chancery.client.command.given_settings import examine_given
from chancery.client.command.service_settings import load_all, read_all, settings_classes
from chancery.client.command.settings import CommandSettings, InvalidSetting
from chancery.runtime.settings import ServiceSettings
from chancery.store.roles import SERVICES

SECRET = "quagmire7741"


class Grown(ServiceSettings):
    """The settings of a service that got one more."""

    one_more: int = 3


def test_every_setting_of_every_service_is_shown() -> None:
    classes = settings_classes()
    shown = all_redacted(load_all())

    assert set(classes) == set(SERVICES)
    for kind in classes.values():
        names = set(kind.model_fields) - {"otlp_endpoint"}
        assert {f"CHANCERY_{name}".upper() for name in names} <= set(shown)
    assert {"CHANCERY_REPLICA", "CHANCERY_PREVIEW_BYTES"} < set(shown)


def test_a_setting_that_is_added_to_a_service_is_shown_without_further_ado() -> None:
    shown = all_redacted({"command": CommandSettings(), "grown": Grown()})

    assert shown["CHANCERY_ONE_MORE"] == {"value": 3, "from": "default"}


def test_defaults_that_differ_are_shown_with_whose_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apart = all_redacted(load_all())["CHANCERY_WORKERS"]
    monkeypatch.setenv("CHANCERY_WORKERS", "9")
    given = all_redacted(load_all())["CHANCERY_WORKERS"]

    assert "indexing 256" in str(apart["value"])
    assert "release 8" in str(apart["value"])
    assert given == {"value": 9, "from": "environment"}


def test_a_setting_of_a_service_alone_that_does_not_fit_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHANCERY_REPLICA", "99")
    monkeypatch.setenv("CHANCERY_LOG_LEVEL", "loud")

    _, wrong = read_all()

    assert {each.field for each in wrong} == {"CHANCERY_REPLICA", "CHANCERY_LOG_LEVEL"}
    with pytest.raises(InvalidSetting):
        load_all()


@pytest.mark.parametrize(
    "given",
    [
        CommandSettings(blobs_url="c:/x"),
        CommandSettings(blobs_url=f"s3://me:{SECRET}@bucket"),
        CommandSettings(blobs_url="file:///proc/version"),
        CommandSettings(nats_url=f"http://me:{SECRET}@127.0.0.1"),
        CommandSettings(nats_url=SECRET),
        CommandSettings(postgres_dsn=SecretStr(SECRET)),
        CommandSettings(signing_key=SecretStr(SECRET)),
        CommandSettings(token_key=SecretStr(SECRET)),
        CommandSettings(token=SecretStr(f"{SECRET} two")),
        CommandSettings(language="xx"),
    ],
    ids=lambda given: next(iter(given.model_fields_set)),
)
async def test_a_setting_that_cannot_be_used_is_named_without_its_secret(
    given: CommandSettings,
) -> None:
    [finding] = await examine_given(given)

    assert not finding.is_well
    assert finding.name == f"CHANCERY_{next(iter(given.model_fields_set))}".upper()
    assert SECRET not in finding.detail


async def test_what_can_be_used_is_well_and_what_is_not_given_is_not_asked() -> None:
    given = CommandSettings(
        blobs_url="file:///tmp",
        signing_key=SecretStr("ab" * 32),
        token_key=SecretStr("k" * 32),
        language="de",
    )

    findings = await examine_given(given)

    assert len(findings) == 4
    assert all(each.is_well for each in findings), findings
    assert await examine_given(CommandSettings()) == []

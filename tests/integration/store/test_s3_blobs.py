"""Blobs in an S3-compatible server over HTTP: the same contract, and its own failures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator

import httpx
import obstore
import pytest

from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id
from chancery.store.blobs import BlobCorrupt, Blobs, Receiving, Stock, open_blobs
from chancery.store.object_blobs import open_object_blobs
from chancery.testkit.ports import kept_port
from chancery.testkit.waiting import wait_until
from tests.unit.store.test_blobs import LIMIT, BlobsContract
from tests.unit.store.test_receiving import ReceivingContract
from tests.unit.store.test_stock import StockContract

pytestmark = pytest.mark.integration

SECRET = "not-to-be-told"
READY_WITHIN_S = 60
STOP_S = 10


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Run a server that speaks S3 in a process of its own."""
    url = f"http://127.0.0.1:{(port := kept_port())}"
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)],
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(lambda: _answers(url), within_s=READY_WITHIN_S)
        yield url
    finally:
        server.terminate()
        server.wait(STOP_S)


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make an empty bucket, and set what a deployment sets in the environment."""
    name = f"blobs-{random_id()}"
    httpx.put(f"{endpoint}/{name}").raise_for_status()
    _set(monkeypatch, endpoint)
    return name


def _set(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for variable, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "chancery",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():
        monkeypatch.setenv(variable, value)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


class TestS3Stock(StockContract):
    """A folder of a bucket, as its operator sees it."""

    @pytest.fixture
    def stock(self, bucket: str) -> Stock:
        return open_blobs(f"s3://{bucket}/chancery")


class TestS3Receiving(ReceivingContract):
    """A bucket that takes blobs piece by piece, large ones in several requests."""

    @pytest.fixture
    def blobs(self, bucket: str) -> Receiving:
        return open_blobs(f"s3://{bucket}")


class TestS3Blobs(BlobsContract):
    """A bucket, by its URL."""

    @pytest.fixture
    def blobs(self, bucket: str) -> Blobs:
        return open_blobs(f"s3://{bucket}")

    async def test_blobs_stand_below_the_path_of_the_url(self, bucket: str) -> None:
        below, beside = open_blobs(f"s3://{bucket}/chancery"), open_blobs(f"s3://{bucket}")

        sha256 = await below.put("t1", b"data")

        assert await below.get("t1", sha256, limit=LIMIT) == b"data"
        assert not await beside.exists("t1", sha256)

    async def test_changed_bytes_are_never_returned(self, bucket: str) -> None:
        blobs = open_object_blobs(f"s3://{bucket}")
        sha256 = await blobs.put("t1", b"original")
        await obstore.put_async(blobs.store, f"t1/{sha256}", b"0riginal")

        with pytest.raises(BlobCorrupt):
            await blobs.get("t1", sha256, limit=LIMIT)

    async def test_a_large_blob_comes_back_whole(self, blobs: Blobs) -> None:
        data = bytes(range(256)) * (16 * 1024 * 1024 // 256)

        sha256 = await blobs.put("t1", data)

        assert await blobs.get("t1", sha256, limit=len(data)) == data

    @pytest.mark.usefixtures("bucket")
    async def test_a_bucket_that_is_not_there_is_told_without_the_credentials(self) -> None:
        blobs = open_blobs("s3://no-such-bucket")

        with pytest.raises(Unavailable) as refused:
            await blobs.put("t1", b"data")

        assert SECRET not in f"{refused.value!r} {refused.value.detail} {blobs!r}"


async def test_a_server_that_is_away_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, f"http://127.0.0.1:{kept_port()}")
    blobs = open_blobs("s3://bucket")

    with pytest.raises(Unavailable) as refused:
        await blobs.exists("t1", "0" * 64)

    assert refused.value.code == "blobs_unavailable"

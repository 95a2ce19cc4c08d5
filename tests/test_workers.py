from __future__ import annotations

import pytest

from tests.workers import broker_of


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/1"),
        ("redis://127.0.0.1:6379/15", "redis://127.0.0.1:6379/0"),
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379/1"),
        ("redis+socket:///tmp/valkey.sock?virtual_host=0", "redis+socket:///tmp/valkey.sock?virtual_host=1"),
    ],
)
def test_a_second_process_has_a_broker_of_its_own(address, own):
    assert broker_of("gw1", address) == own

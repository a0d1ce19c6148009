from tests.support.clock import FakeClock
from workspace_server.domain.ids import IdKind, is_id, mint


def test_an_id_has_its_kind_in_front_and_is_a_uuid_of_version_7() -> None:
    minted = mint(IdKind.OPERATION, FakeClock())
    assert minted.startswith("op-")
    assert is_id(IdKind.OPERATION, minted)
    assert not is_id(IdKind.PROCESS, minted)


def test_later_ids_sort_after_earlier_ones() -> None:
    clock, ids = FakeClock(), []
    for _ in range(100):
        ids.append(mint(IdKind.PROCESS, clock))
        clock.advance(0.001)
    assert ids == sorted(ids)
    assert len(set(ids)) == 100

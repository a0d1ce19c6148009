from collections.abc import Sequence

import pytest

from workspace_server.patch.model import Hunk, LineKind, PatchLine
from workspace_server.patch.placement import Misfit, MisplacedHunk, PlacementFailed, place


def _hunk(
    *lines: str,
    loose_blanks: int = 0,
    anchors: tuple[str, ...] = (),
    at_end: bool = False,
    inserted_after: int | None = None,
    stated_start: int | None = None,
) -> Hunk:
    return Hunk(
        number=1,
        patch_line=1,
        lines=tuple(PatchLine(LineKind(line[0]), line[1:]) for line in lines),
        loose_blanks=loose_blanks,
        anchors=anchors,
        at_end=at_end,
        stated_start=stated_start if inserted_after is None else inserted_after,
        is_stated_insertion=inserted_after is not None,
    )


def _starts(text: str, *hunks: Hunk) -> list[int]:
    return [placed.start for placed in place(hunks, text.split())]


def _misfits(texts: Sequence[str], *hunks: Hunk) -> Sequence[MisplacedHunk]:
    with pytest.raises(PlacementFailed) as failed:
        place(hunks, texts)
    return failed.value.hunks


def test_a_block_goes_where_it_is_found() -> None:
    assert _starts("a b c d", _hunk(" b", "-c")) == [1]


@pytest.mark.guarantee("patch-in-one-place")
def test_a_block_found_twice_is_refused_with_both_places() -> None:
    (misfit,) = _misfits(list("abab"), _hunk("-a"))
    assert (misfit.misfit, misfit.candidates) == (Misfit.SEVERAL_PLACES, (0, 2))


def test_overlapping_places_count_as_two() -> None:
    (misfit,) = _misfits(list("xxx"), _hunk("-x", "-x"))
    assert misfit.candidates == (0, 1)


def test_the_order_of_the_hunks_settles_what_one_alone_could_not() -> None:
    assert _starts("a b a", _hunk("-b"), _hunk("-a")) == [1, 2]
    assert _starts("a a", _hunk("-a"), _hunk("-a")) == [0, 1]


def test_two_ways_to_place_all_hunks_are_one_too_many() -> None:
    misfits = _misfits(list("aaa"), _hunk("-a"), _hunk("-a"))
    assert [each.misfit for each in misfits] == [Misfit.SEVERAL_PLACES] * 2


def test_every_hunk_that_fails_is_told() -> None:
    misfits = _misfits(list("abb"), _hunk("-x"), _hunk("-a"), _hunk("-b"), _hunk("-y"))
    assert [each.misfit for each in misfits] == [
        Misfit.NOT_FOUND,
        Misfit.NOT_FOUND,
        Misfit.SEVERAL_PLACES,
    ]


def test_hunks_may_share_lines_that_both_only_quote() -> None:
    assert _starts("a b c", _hunk("-a", " b"), _hunk(" b", "-c")) == [0, 1]


def test_hunks_may_not_share_a_line_that_one_removes() -> None:
    (misfit,) = _misfits(list("abc"), _hunk("-a", "-b"), _hunk(" b", "-c"))
    assert misfit.misfit is Misfit.OUT_OF_ORDER


def test_hunks_out_of_order_are_placed_if_each_has_one_place() -> None:
    assert _starts("a b c", _hunk("-c"), _hunk("-a")) == [0, 2]


def test_hunks_out_of_order_are_refused_if_one_has_two_places() -> None:
    (misfit,) = _misfits(list("abbc"), _hunk("-c"), _hunk("-b"))
    assert misfit.misfit is Misfit.SEVERAL_PLACES


def test_a_block_comes_after_its_anchor() -> None:
    assert _starts("f x g x", _hunk("-x", anchors=("g",))) == [3]


def test_an_anchor_may_be_the_first_line_of_its_block_if_nothing_else_fits() -> None:
    assert _starts("f g x", _hunk(" g", "-x", anchors=("g",))) == [1]


def test_a_block_after_its_anchor_comes_before_one_that_begins_with_it() -> None:
    assert _starts("g x a g x", _hunk(" g", "-x", anchors=("g",))) == [3]


def test_an_anchor_that_leaves_two_places_does_not_settle_them() -> None:
    (misfit,) = _misfits(list("fxgx"), _hunk("-x", anchors=("f",)))
    assert misfit.misfit is Misfit.SEVERAL_PLACES


def test_an_addition_follows_its_anchor() -> None:
    assert _starts("f g h", _hunk("+n", anchors=("f",))) == [1]


def test_an_addition_after_an_anchor_found_twice_is_refused() -> None:
    (misfit,) = _misfits(list("fgf"), _hunk("+n", anchors=("f",)))
    assert misfit.candidates == (1, 3)


@pytest.mark.guarantee("patch-in-one-place")
def test_an_addition_that_nothing_places_is_refused() -> None:
    (misfit,) = _misfits(list("fg"), _hunk("+n"))
    assert misfit.misfit is Misfit.NO_CONTEXT


def test_an_addition_goes_to_the_end_if_it_says_so_or_into_an_empty_file() -> None:
    assert _starts("a b", _hunk("+n", at_end=True)) == [2]
    assert _starts("", _hunk("+n")) == [0]


def test_the_end_is_demanded_where_it_is_named() -> None:
    assert _starts("a b a", _hunk("-a", at_end=True)) == [2]
    (misfit,) = _misfits(list("ab"), _hunk("-a", at_end=True))
    assert misfit.misfit is Misfit.NOT_FOUND


def test_blank_lines_at_the_end_of_a_hunk_are_context_if_the_file_has_them() -> None:
    (placed,) = place([_hunk("-a", " ", loose_blanks=1)], ["a", "", "a", "b"])
    assert (placed.start, placed.end) == (0, 2)


def test_blank_lines_at_the_end_of_a_hunk_are_separators_if_the_file_has_none() -> None:
    (placed,) = place([_hunk("-a", " ", loose_blanks=1)], ["a", "b", ""])
    assert (placed.start, placed.end) == (0, 1)


def test_a_blank_line_that_may_be_a_separator_places_no_addition() -> None:
    (misfit,) = _misfits(["a", "", "b"], _hunk("+n", " ", loose_blanks=1))
    assert misfit.misfit is Misfit.NO_CONTEXT


def test_an_addition_without_context_goes_after_its_stated_line() -> None:
    assert _starts("a b c", _hunk("+n", inserted_after=2)) == [2]
    assert _starts("a b c", _hunk("+n", inserted_after=0)) == [0]
    (misfit,) = _misfits(list("abc"), _hunk("+n", inserted_after=4))
    assert misfit.misfit is Misfit.NO_CONTEXT


def test_what_only_a_line_number_placed_is_not_called_exact() -> None:
    by_number, by_context = place([_hunk("+n", inserted_after=1), _hunk("-c")], list("abc"))
    assert (by_number.matched, by_context.matched) == ("line-number", "exact")


def test_a_stated_line_is_not_believed_where_another_one_proved_wrong() -> None:
    (misfit,) = _misfits(list("abc"), _hunk("-a", stated_start=2), _hunk("+n", inserted_after=3))
    assert misfit.misfit is Misfit.LINES_MOVED

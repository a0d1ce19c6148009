from workspace_server.patch.line_search import FixedPlaces, LineSearch


def test_a_block_is_found_at_each_of_its_places() -> None:
    places = LineSearch(["x", "x", "x"], ["x"]).places(["x", "x"])
    assert [places.first(0), places.first(1), places.first(2)] == [0, 1, None]
    assert [places.last(9), places.last(0), places.last(-1)] == [1, 0, None]


def test_lines_that_nobody_asks_for_match_nothing() -> None:
    places = LineSearch(["a", "b", "c"], ["a", "c"]).places(["a", "c"])
    assert places.first(0) is None
    assert places.last(3) is None


def test_a_bound_holds_in_both_directions() -> None:
    places = LineSearch(["a", "b", "a"], ["a"]).places(["a"], at_least=1)
    assert places.first(0) == 2
    assert places.last(1) is None


def test_the_end_is_a_place_only_for_the_block_that_stands_there() -> None:
    search = LineSearch(["a", "b"], ["a", "b"])
    assert search.place_at_end(["b"]).first(0) == 1
    assert search.place_at_end(["a"]).first(0) is None
    assert search.place_at_end(["a", "b", "a"]).first(0) is None


def test_the_key_says_which_lines_are_the_same() -> None:
    search = LineSearch(["  a"], ["a"], key=str.strip)
    assert search.places(["a"]).first(0) == 0


def test_known_places_are_given_in_order() -> None:
    places = FixedPlaces([1, 4], length=0)
    assert [places.first(2), places.last(3), places.first(5), places.last(0)] == [4, 1, None, None]

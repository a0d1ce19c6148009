from workspace_server.patch.anchors import Anchors

_ANCHORS = Anchors(["class A:", "    def m(self):", "class B:", "    def m(self):", "    x = 1"])


def test_an_anchor_is_a_line_whatever_its_indentation() -> None:
    assert _ANCHORS.position(["def m(self):"]) == 1


def test_stacked_anchors_follow_each_other() -> None:
    assert _ANCHORS.position(["class B:", "def m(self):"]) == 3
    assert _ANCHORS.position(["class B:", "class A:"]) is None


def test_the_beginning_of_a_line_will_do_if_one_line_has_it() -> None:
    assert _ANCHORS.position(["class B"]) == 2
    assert _ANCHORS.position(["class"]) is None
    assert _ANCHORS.position(["def m"]) is None


def test_every_line_that_can_be_the_last_anchor_is_told() -> None:
    assert _ANCHORS.positions_of_last(["def m(self):"]) == [1, 3]
    assert _ANCHORS.positions_of_last(["class B:", "def m(self):"]) == [3]
    assert _ANCHORS.positions_of_last(["class C:", "def m(self):"]) == []

import pytest

from workspace_server.domain.transport_failure import NextStep, next_step


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (None, NextStep.LOOK_UP),
        (401, NextStep.AUTHENTICATE),
        (403, NextStep.AUTHENTICATE),
        (404, NextStep.RECONNECT),
        (408, NextStep.LOOK_UP),
        (425, NextStep.WAIT_AND_RETRY),
        (429, NextStep.WAIT_AND_RETRY),
        (500, NextStep.LOOK_UP),
        (502, NextStep.LOOK_UP),
        (503, NextStep.WAIT_AND_RETRY),
        (504, NextStep.LOOK_UP),
    ],
)
def test_each_failure_has_its_next_step(status: int | None, step: NextStep) -> None:
    assert next_step(status) is step


@pytest.mark.parametrize("status", [307, 400, 405, 413, 415, 422, 499])
def test_what_would_be_refused_again_is_given_up(status: int) -> None:
    assert next_step(status) is NextStep.GIVE_UP


@pytest.mark.parametrize("status", [520, 599])
def test_an_unknown_failure_of_a_server_is_looked_up(status: int) -> None:
    assert next_step(status) is NextStep.LOOK_UP


@pytest.mark.parametrize("status", [-1, 0, 100, 200, 202, 299, 600])
def test_what_is_no_failure_is_a_defect_of_the_caller(status: int) -> None:
    with pytest.raises(ValueError, match=str(status)):
        next_step(status)


@pytest.mark.guarantee("transport-failure-says-nothing")
def test_only_a_refused_authentication_says_that_nothing_ran() -> None:
    failures = [None, *range(300, 600)]
    certain = [status for status in failures if not next_step(status).mutation_may_have_run]
    assert certain == [401, 403]

"""A transport failure: what it says about the call that met it, and what a loop does next."""

from enum import StrEnum


class NextStep(StrEnum):
    """What to do after a call that got no answer of its tool."""

    AUTHENTICATE = "authenticate"  # this attempt left no record; mend the credentials
    RECONNECT = "reconnect"  # the session is gone: open another, then look the call up
    LOOK_UP = "look_up"  # ask operation_status for the call's key, or repeat it with that key
    WAIT_AND_RETRY = "wait_and_retry"  # after a pause, the same call with the same key
    GIVE_UP = "give_up"  # the same request would be refused again; somebody has to mend it

    @property
    def mutation_may_have_run(self) -> bool:
        """Whether this attempt may have changed something.

        Only a refused authentication rules that out: whatever else is reported may have been said
        by something between client and server, after the server had begun.
        """
        return self is not NextStep.AUTHENTICATE


_BY_STATUS = {
    401: NextStep.AUTHENTICATE,
    403: NextStep.AUTHENTICATE,
    404: NextStep.RECONNECT,
    408: NextStep.LOOK_UP,
    425: NextStep.WAIT_AND_RETRY,
    429: NextStep.WAIT_AND_RETRY,
    503: NextStep.WAIT_AND_RETRY,
}


def next_step(status: int | None) -> NextStep:
    """Return what to do after a failure with that HTTP status; None: no response came at all.

    No response is a reset connection, a timeout, or a stdio server that closed its end. Raises
    ValueError for a status that is no failure or none of HTTP's.
    """
    if status is None:
        return NextStep.LOOK_UP
    if not 300 <= status <= 599:
        raise ValueError(f"{status} is no HTTP status of a failure")
    if status >= 500:
        return _BY_STATUS.get(status, NextStep.LOOK_UP)
    return _BY_STATUS.get(status, NextStep.GIVE_UP)

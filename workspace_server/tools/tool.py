"""What a tool is: its schemas, its description, and what runs when it is called."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from workspace_server.domain.operation import Operation, OperationKind
from workspace_server.ledger.processes import NewProcess
from workspace_server.tools.services import Services
from workspace_server.workspace.registry import Workspace, WorkspaceView

MAX_WAIT_MS = 50_000  # below the 60 s at which clients give up


class Arguments(BaseModel):
    """The arguments of a tool: a closed schema, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    workspace_id: str | None = Field(default=None, description="Needed where there are several.")


class MutationArguments(Arguments):
    """The arguments of a tool that changes something."""

    operation_key: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="Your own name for this change: the same call with it again is answered "
        "with the first outcome, and nothing is done twice.",
    )

    @property
    def only_previews(self) -> bool:
        """Whether this call asks what would happen and changes nothing."""
        return False


class Result(BaseModel):
    """What a tool answers; absent values are left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MutationResult(Result):
    """What a tool that changes something answers."""

    operation_id: str | None = Field(
        default=None, description="Look it up with operation_status; absent for a preview."
    )
    replayed: bool | None = Field(
        default=None, description="True: this is the stored outcome of an earlier, same call."
    )


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who calls, as far as a transport could establish it."""

    principal: str
    view: WorkspaceView


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call on its way: who, where, and the parts of the server it may use."""

    caller: Caller
    services: Services
    workspace: Workspace | None  # None where a tool does without, and none was named

    @property
    def target(self) -> Workspace:
        """The workspace of a tool that always has one."""
        assert self.workspace is not None
        return self.workspace


@dataclass(frozen=True, kw_only=True)
class Annotations:
    """Hints for clients; true of the tool whatever its arguments."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class Prepared(Protocol):
    """A change that is checked and planned in memory, and can now be done."""

    @property
    def process(self) -> NewProcess | None:
        """The process it will start, recorded with the operation; None for a patch."""
        ...

    async def perform(self, operation: Operation) -> None:
        """Do it, under the lease and after the row; record the outcome."""
        ...


A = TypeVar("A", bound=Arguments)
M = TypeVar("M", bound=MutationArguments)


@dataclass(frozen=True, kw_only=True)
class Mutation(Generic[M]):
    """The parts of a change that the gateway puts in order."""

    kind: OperationKind
    # Checks and plans, changes nothing. `operation_id` is the id it would run under.
    prepare: Callable[[Call, M, str], Awaitable[Prepared]]
    # The result, or the failure, that a recorded operation stands for: fresh or replayed.
    answer: Callable[[Call, M, Operation], Awaitable[MutationResult]]


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[A]):
    """An entry of the catalogue: `run` for what reads (and previews), `mutation` for changes."""

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[Result]
    annotations: Annotations
    run: Callable[[Call, A], Awaitable[Result]] | None = None
    mutation: Mutation[Any] | None = None  # of the same arguments; M is narrower than A
    names_workspace: bool = True  # False: the call may be about all workspaces in view
    # The result as text for clients that show no structure; JSON where absent.
    text: Callable[[Any], Sequence[str]] | None = None


AnyTool: TypeAlias = Tool[Any]  # a catalogue mixes argument types; `parse` restores them

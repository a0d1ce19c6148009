"""The path of every call: validate, authorise, replay, plan, lease, record, do, record."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import ValidationError

from workspace_server.domain.errors import (
    InvalidArguments,
    InvalidResult,
    OperationKeyConflict,
    WorkspaceServerError,
)
from workspace_server.domain.failure import failure_object
from workspace_server.domain.fingerprint import fingerprint
from workspace_server.domain.ids import IdKind, mint
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.ledger.errors import KeyTaken
from workspace_server.ledger.operations import NewOperation
from workspace_server.tools.authority import authorise_change
from workspace_server.tools.parsing import parse_arguments
from workspace_server.tools.results import Reply, failure, internal, success
from workspace_server.tools.services import Services
from workspace_server.tools.tool import (
    AnyTool,
    Arguments,
    Call,
    Caller,
    MutationArguments,
    MutationResult,
    Prepared,
    Result,
)
from workspace_server.tools.turns import Turns
from workspace_server.workspace.lease import HolderKind
from workspace_server.workspace.registry import Workspace

_log = logging.getLogger(__name__)

_HOLDERS = {
    OperationKind.PATCH: HolderKind.PATCH,
    OperationKind.COMMAND: HolderKind.COMMAND,
}


class Gateway:
    """Takes calls from every transport; the only way to a tool."""

    def __init__(self, catalogue: Sequence[AnyTool], services: Services) -> None:
        self._tools = {tool.name: tool for tool in catalogue}
        self._services = services
        self._turns = Turns()

    @property
    def tools(self) -> Sequence[AnyTool]:
        """The catalogue, in its order."""
        return tuple(self._tools.values())

    async def call(self, caller: Caller, name: str, raw: JsonObject) -> Reply:
        """Answer one call of a tool of the catalogue; a failure is a reply, never an exception."""
        tool = self._tools[name]
        try:
            return success(tool, await self._result(caller, tool, raw))
        except WorkspaceServerError as error:
            cause = error.__cause__
            _log.info("%s: %s: %s Cause: %r", name, error.code, error.message, cause)
            _log.debug("%s was caused by", error.code, exc_info=cause)
            return failure(error)
        except ValidationError as error:
            _log.error("%s: a result does not fit its schema", name, exc_info=error)
            return failure(InvalidResult(f"The result of {name} does not fit its schema."))
        except Exception as error:
            return failure(internal(name, error))

    async def _result(self, caller: Caller, tool: AnyTool, raw: JsonObject) -> Result:
        arguments = parse_arguments(tool, raw)
        workspace = _workspace(caller, tool, arguments)
        call = Call(caller=caller, services=self._services, workspace=workspace)
        if isinstance(arguments, MutationArguments) and not arguments.only_previews:
            await authorise_change(call, tool.name, call.target)
            return await self._mutate(call, tool, arguments)
        assert tool.run is not None
        return await tool.run(call, arguments)

    async def _mutate(
        self, call: Call, tool: AnyTool, arguments: MutationArguments
    ) -> MutationResult:
        new = self._new_operation(call, tool, arguments)
        if new.operation_key is None:
            earlier = await self._carry_out(call, tool, arguments, new)
        else:
            async with self._turns.of((new.root, new.principal, new.operation_key)):
                earlier = await self._bound_to_key(new) or await self._carry_out(
                    call, tool, arguments, new
                )
        if earlier is not None:
            return await self._replay(call, tool, arguments, new, earlier)
        return await self._answer(call, tool, arguments, new.operation_id)

    async def _carry_out(
        self, call: Call, tool: AnyTool, arguments: MutationArguments, new: NewOperation
    ) -> Operation | None:
        """Do it, and return nothing; or return the earlier operation that has its key.

        Twins take turns, so that can only be one whose caller has gone while it was under way.
        """
        assert tool.mutation is not None
        try:
            prepared = await tool.mutation.prepare(call, arguments, new.operation_id)
        except WorkspaceServerError as error:
            earlier = await self._bound_to_key(new)
            if earlier is None:
                await self._record_refusal(new, error)
                raise
            return earlier
        if prepared.process is not None:
            new = replace(new, process_id=prepared.process.process_id)
        try:
            await self._lease_and_perform(new, prepared)
        except KeyTaken as taken:
            return taken.operation
        return None

    def _new_operation(
        self, call: Call, tool: AnyTool, arguments: MutationArguments
    ) -> NewOperation:
        assert tool.mutation is not None
        request = arguments.model_dump(mode="json", exclude_none=True)
        return NewOperation(
            operation_id=mint(IdKind.OPERATION, self._services.clock),
            kind=tool.mutation.kind,
            root=call.target.root,
            principal=call.caller.principal,
            operation_key=arguments.operation_key,
            fingerprint=fingerprint(tool.name, call.target.root, request),
            request=request,
        )

    async def _bound_to_key(self, new: NewOperation) -> Operation | None:
        if new.operation_key is None:
            return None
        return await self._services.ledger.operations.bound_to_key(
            new.root, new.principal, new.operation_key
        )

    async def _replay(
        self,
        call: Call,
        tool: AnyTool,
        arguments: MutationArguments,
        new: NewOperation,
        earlier: Operation,
    ) -> MutationResult:
        if earlier.fingerprint != new.fingerprint:
            raise OperationKeyConflict(
                f"operation_key {new.operation_key!r} belongs to another request.",
                recovery="See what became of that: operation_status(operation_key=...). "
                "If this is another change, give it a key of its own.",
            )
        await self._services.in_flight.wait_finished(earlier.operation_id)
        try:
            result = await self._answer(call, tool, arguments, earlier.operation_id)
        except WorkspaceServerError as error:
            error.details["replayed"] = True
            raise
        return result.model_copy(update={"replayed": True})

    async def _record_refusal(self, new: NewOperation, error: WorkspaceServerError) -> None:
        """Keep a patch that cannot be placed, so that it can be looked up; its key stays free."""
        if new.kind is not OperationKind.PATCH or isinstance(error, InvalidArguments):
            return
        error.operation_id = new.operation_id
        error.details["status"] = OperationStatus.REJECTED.value
        await self._services.ledger.operations.record_rejected(new, failure_object(error))

    async def _lease_and_perform(self, new: NewOperation, prepared: Prepared) -> None:
        """Wait for the lease, where a cancelled call is withdrawn; then run to the end."""
        await self._services.leases.acquire(
            new.root,
            kind=_HOLDERS[new.kind],
            operation_id=new.operation_id,
            process_id=new.process_id,
        )
        work = partial(self._record_and_perform, new, prepared)
        await self._services.in_flight.run(new.operation_id, work)

    async def _record_and_perform(self, new: NewOperation, prepared: Prepared) -> None:
        try:
            operation = await self._services.ledger.operations.begin(new, prepared.process)
            await prepared.perform(operation)
        finally:
            if not self._services.commands.may_run(new.operation_id):
                self._services.leases.release(new.root, new.operation_id)

    async def _answer(
        self, call: Call, tool: AnyTool, arguments: MutationArguments, operation_id: str
    ) -> MutationResult:
        assert tool.mutation is not None
        operation = await self._services.ledger.operations.by_id(operation_id)
        assert operation is not None
        answer: MutationResult = await tool.mutation.answer(call, arguments, operation)
        return answer


def _workspace(caller: Caller, tool: AnyTool, arguments: Arguments) -> Workspace | None:
    if arguments.workspace_id is None and not tool.names_workspace:
        return None
    return caller.view.find(arguments.workspace_id)

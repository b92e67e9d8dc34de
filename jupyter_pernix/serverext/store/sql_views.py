"""What a query of the user's can read: ``events``, which the database has, and these views over it, one row a thing.

They are made afresh for each query, so a change here needs no step of the schema. Times are UTC without a zone; ``NULL`` where
something has not happened (yet).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def _text(name: str, column: str = "body") -> str:
    return f"{column} ->> '$.{name}'"


def _last(name: str, types: str) -> str:
    """The last value of a field that was given with an event of these types."""
    return f"arg_max({_text(name)}, seq) FILTER (type IN ({types}) AND {_text(name)} IS NOT NULL)"


def _once(type_: str, **columns: str) -> str:
    """``columns`` of events of one type; at most one of them belongs to a row."""
    chosen = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    return f"(SELECT {chosen} FROM events WHERE type = '{type_}')"


_SECONDS = "epoch(finished_at - started_at)"

VIEWS: dict[str, tuple[str, str]] = {
    "sessions": (
        "one row a session, workers included (`parent` is set)",
        f"""
        SELECT session_id,
               {_last("title", "'session.created', 'session.renamed'")} AS title,
               {_last("mode", "'session.created', 'session.configured'")} AS mode,
               {_last("endpoint", "'session.created', 'session.configured'")} AS endpoint,
               {_last("kernel_name", "'session.created', 'session.configured'")} AS kernel_name,
               {_last("space_root", "'session.created'")} AS space_root,
               coalesce({_last("record_path", "'session.renamed'").replace(" IS NOT NULL", " <> ''")},
                        {_last("record_path", "'session.created'")}) AS record_path,
               {_last("place", "'session.created'")} AS place,
               {_last("origin", "'session.created'")} AS origin,
               {_last("parent", "'session.created'")} AS parent,
               coalesce({_last("after", "'session.state_changed'")}, 'idle_ready') AS state,
               coalesce({_last("archived", "'session.archived'")} = 'true', false) AS archived,
               min(recorded_at) AS created_at, max(recorded_at) AS updated_at,
               count(*) FILTER (type = 'turn.submitted') AS turns,
               count(*) FILTER (type = 'tool_call.requested') AS tool_calls,
               sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens, sum(cost) AS cost
        FROM events GROUP BY session_id HAVING count(*) FILTER (type = 'session.created') > 0
        """,
    ),
    "turns": (
        "one row a message of the user's, with how its turn ended (`code`)",
        f"""
        SELECT session_id, turn_id, coalesce(edited.text, submitted.text) AS text, origin, submitted_at, started_at, finished_at,
               {_SECONDS} AS seconds, mode, endpoint, model, code, detail, steps, prompt_tokens, completion_tokens, cost
        FROM {
            _once(
                "turn.submitted",
                session_id="session_id",
                turn_id="turn_id",
                submitted_at="recorded_at",
                text=_text("text"),
                origin=_text("origin"),
            )
        } submitted
        LEFT JOIN (SELECT turn_id, arg_max({
            _text("text")
        }, seq) AS text FROM events WHERE type = 'turn.edited' GROUP BY turn_id)
             edited USING (turn_id)
        LEFT JOIN {
            _once(
                "turn.started",
                turn_id="turn_id",
                started_at="recorded_at",
                mode=_text("mode"),
                endpoint=_text("endpoint"),
                model="model",
            )
        } USING (turn_id)
        LEFT JOIN {
            _once(
                "turn.finished",
                turn_id="turn_id",
                finished_at="recorded_at",
                code=_text("code"),
                detail=_text("detail"),
            )
        } USING (turn_id)
        LEFT JOIN (SELECT turn_id, count(*) AS steps, sum(prompt_tokens)::BIGINT AS prompt_tokens,
                          sum(completion_tokens)::BIGINT AS completion_tokens, sum(cost) AS cost
                   FROM events WHERE type = 'step.finished' GROUP BY turn_id) USING (turn_id)
        """,
    ),
    "steps": (
        "one row a request to a model",
        f"""
        SELECT session_id, turn_id, step_id, role, purpose, endpoint, coalesce(answered.model, asked.model) AS model, started_at,
               finished_at, {_SECONDS} AS seconds, prompt_tokens, completion_tokens, cost, finish_reason, prompt_bytes
        FROM {
            _once(
                "step.started",
                session_id="session_id",
                turn_id="turn_id",
                step_id="step_id",
                started_at="recorded_at",
                endpoint=_text("endpoint"),
                model="model",
                role=f"coalesce({_text('role')}, 'primary')",
                purpose=f"coalesce({_text('purpose')}, 'act')",
                prompt_bytes=f"({_text('prompt_bytes')})::BIGINT",
            )
        } asked
        LEFT JOIN {
            _once(
                "step.finished",
                step_id="step_id",
                finished_at="recorded_at",
                model="model",
                prompt_tokens="prompt_tokens",
                completion_tokens="completion_tokens",
                cost="cost",
                finish_reason=_text("finish_reason"),
            )
        } answered USING (step_id)
        """,
    ),
    "tool_calls": (
        "one row a call of a tool: what was decided, how it ended, what the model read (`result`)",
        f"""
        SELECT session_id, turn_id, step_id, call_id, tool, kind, title, arguments, verdict, rule,
               coalesce(status, CASE WHEN started_at IS NULL THEN 'pending' ELSE 'in_progress' END) AS status,
               requested_at, started_at, finished_at, seconds, result
        FROM {
            _once(
                "tool_call.requested",
                session_id="session_id",
                turn_id="turn_id",
                step_id="step_id",
                call_id="call_id",
                tool="tool",
                kind="kind",
                title=_text("title"),
                arguments="body -> '$.arguments'",
                requested_at="recorded_at",
            )
        }
        LEFT JOIN (SELECT call_id, arg_max({_text("verdict")}, seq) AS verdict, arg_max({_text("rule")}, seq) AS rule
                   FROM events WHERE type = 'policy.decided' GROUP BY call_id) USING (call_id)
        LEFT JOIN (SELECT call_id, min(recorded_at) AS started_at FROM events WHERE type = 'tool_call.started' GROUP BY call_id)
             USING (call_id)
        LEFT JOIN {
            _once(
                "tool_call.finished",
                call_id="call_id",
                finished_at="recorded_at",
                status=_text("status"),
                seconds=f"({_text('duration')})::DOUBLE",
                result=_text("result"),
            )
        } USING (call_id)
        """,
    ),
    "executions": (
        "one row a piece of code that was run in a kernel",
        f"""
        SELECT session_id, turn_id, call_id, execution_id, place, kernel_name, notebook, cell_id, code, coalesce(status, 'running') AS status,
               started_at, finished_at, seconds, execution_count, ename, evalue, detail
        FROM {
            _once(
                "execution.started",
                session_id="session_id",
                turn_id="turn_id",
                call_id="call_id",
                execution_id="execution_id",
                started_at="recorded_at",
                place=_text("place"),
                kernel_name=_text("kernel_name"),
                code=_text("code"),
                notebook=f"coalesce({_text('notebook')}, '')",
                cell_id=f"coalesce({_text('cell_id')}, '')",
            )
        }
        LEFT JOIN {
            _once(
                "execution.finished",
                execution_id="execution_id",
                finished_at="recorded_at",
                status=_text("status"),
                seconds=f"({_text('duration')})::DOUBLE",
                execution_count=f"({_text('execution_count')})::BIGINT",
                ename=_text("ename"),
                evalue=_text("evalue"),
                detail=_text("detail"),
            )
        } USING (execution_id)
        """,
    ),
    "approvals": (
        "one row a question that was asked, with its answer (`choice`)",
        f"""
        SELECT session_id, turn_id, call_id, approval_id, question, detail, asked_at, answered_at, choice, text, answered_by
        FROM {
            _once(
                "approval.requested",
                session_id="session_id",
                turn_id="turn_id",
                call_id="call_id",
                approval_id=_text("approval_id"),
                question=_text("question"),
                detail=_text("detail"),
                asked_at="recorded_at",
            )
        }
        LEFT JOIN {
            _once(
                "approval.resolved",
                approval_id=_text("approval_id"),
                answered_at="recorded_at",
                choice=_text("choice"),
                text=_text("text"),
                answered_by=_text("by"),
            )
        } USING (approval_id)
        """,
    ),
    "messages": (
        "one row a text of the agent's, with what the host's record says against it (`corrections`)",
        f"""
        SELECT session_id, turn_id, step_id, recorded_at, {_text("text")} AS text, body -> '$.corrections' AS corrections
        FROM events WHERE type = 'message.completed'
        """,
    ),
    "file_changes": (
        "one row a change of a file",
        f"""
        SELECT session_id, turn_id, call_id, recorded_at, {_text("change.path")} AS path,
               coalesce(({_text("change.added_lines")})::BIGINT, 0) AS added_lines,
               coalesce(({_text("change.removed_lines")})::BIGINT, 0) AS removed_lines,
               {_text("change.before")} IS NULL AS created, {_text("change.after")} IS NULL AS deleted,
               coalesce({_text("change.diff")}, '') AS diff
        FROM events WHERE type = 'file.changed'
        """,
    ),
    "cell_changes": (
        "one row a change of a cell of an open notebook, with what became of it",
        f"""
        SELECT session_id, turn_id, call_id, change_id, path, op, cell_id, requested_at,
               CASE WHEN decision = 'undo' THEN 'undone' WHEN decision = 'keep' THEN 'kept' WHEN refused THEN 'refused'
                    WHEN made THEN 'made' ELSE 'requested' END AS status
        FROM {
            _once(
                "cell.change_requested",
                session_id="session_id",
                turn_id="turn_id",
                call_id="call_id",
                change_id=_text("change.change_id"),
                path=_text("change.path"),
                op=_text("change.op"),
                cell_id=_text("change.cell_id"),
                requested_at="recorded_at",
            )
        }
        LEFT JOIN (SELECT {_text("change_id")} AS change_id, bool_or(type = 'cell.changed') AS made,
                          bool_or(type = 'cell.change_refused') AS refused,
                          arg_max({_text("decision")}, seq) FILTER (type = 'cell.change_resolved') AS decision
                   FROM events WHERE type IN ('cell.changed', 'cell.change_refused', 'cell.change_resolved') GROUP BY ALL)
             USING (change_id)
        """,
    ),
}
"""By name: what a row is, in words, and the query."""

NAMES = ("events", *VIEWS)


def make_views(connection: "DuckDBPyConnection") -> None:
    """Make them known to this connection alone."""
    for name, (_, sql) in VIEWS.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {sql}")

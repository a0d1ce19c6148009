-- Every statement of the ledger. One line of each block says what it is for.

-- name: begin
-- Takes the write lock at once, so that no transaction fails half-way for want of it.
BEGIN IMMEDIATE;


-- name: insert_operation
-- A new row, returned as stored; the unique index refuses a key that is bound already.
INSERT INTO operations (
    operation_id, kind, status, root, principal, operation_key, binds_key, fingerprint, request,
    work_id, approval_id, parent_id, process_id, outcome, created_at, updated_at
) VALUES (
    :operation_id, :kind, :status, :root, :principal, :operation_key, :binds_key, :fingerprint,
    :request, :work_id, :approval_id, :parent_id, :process_id, :outcome, :at, :at
) RETURNING *;

-- name: move_operation
-- Compare-and-swap: no row comes back if another task moved it first.
UPDATE operations
SET status = :to_status,
    outcome = coalesce(:outcome, outcome),
    binds_key = CASE WHEN :free_key THEN 0 ELSE binds_key END,
    updated_at = :at
WHERE operation_id = :operation_id AND status = :from_status
RETURNING *;

-- name: plan_outcome
-- Keeps what the row is to answer once its plan is on disk.
UPDATE operations SET planned_outcome = :planned_outcome WHERE operation_id = :operation_id;

-- name: planned_outcome
-- What the row is to answer once its plan is on disk.
SELECT planned_outcome FROM operations WHERE operation_id = :operation_id;

-- name: operation_by_id
-- At most one row.
SELECT * FROM operations WHERE operation_id = :operation_id;

-- name: operations_ending_in
-- The rows that a person may mean by the end of their id or their process's, newest first.
SELECT * FROM operations
WHERE :ending IN (substr(operation_id, -length(:ending)), substr(process_id, -length(:ending)))
ORDER BY operation_id DESC LIMIT :limit;

-- name: operation_bound_to_key
-- At most one row: the one that owns the key now.
SELECT * FROM operations
WHERE root = :root AND principal = :principal AND operation_key = :operation_key AND binds_key = 1;

-- name: latest_operation_with_key
-- The owner of the key, or else the last row that was called by it.
SELECT * FROM operations
WHERE root = :root AND principal = :principal AND operation_key = :operation_key
ORDER BY binds_key DESC, operation_id DESC LIMIT 1;

-- name: operations_in
-- The rows of a kind that stand in one of some statuses, oldest first.
SELECT * FROM operations
WHERE kind = :kind AND status IN (SELECT value FROM json_each(:statuses))
ORDER BY operation_id;

-- name: operation_page
-- Newest first, from before a given row on; a filter that is NULL lets everything through.
SELECT * FROM operations
WHERE (:roots IS NULL OR root IN (SELECT value FROM json_each(:roots)))
    AND (:principal IS NULL OR principal = :principal)
    AND (:kind IS NULL OR kind = :kind)
    AND (:status IS NULL OR status = :status)
    AND (:work_id IS NULL OR work_id = :work_id)
    AND (:since IS NULL OR created_at >= :since)
    AND (:before IS NULL OR operation_id < :before)
ORDER BY operation_id DESC LIMIT :limit;


-- name: insert_process
-- A new row for a process that is not confirmed yet.
INSERT INTO processes (process_id, operation_id, root, state, argv, tty, created_at)
VALUES (:process_id, :operation_id, :root, :state, :argv, :tty, :at);

-- name: move_process
-- Compare-and-swap: no row comes back if another task moved it first.
UPDATE processes
SET state = :to_state, termination = :termination, exit_code = :exit_code, signal = :signal,
    reason = :reason, ended_at = :ended_at
WHERE process_id = :process_id AND state = :from_state
RETURNING *;

-- name: process_by_id
-- At most one row.
SELECT * FROM processes WHERE process_id = :process_id;

-- name: process_by_operation
-- At most one row.
SELECT * FROM processes WHERE operation_id = :operation_id;

-- name: process_page
-- Newest first, from before a given row on; a filter that is NULL lets everything through.
SELECT processes.* FROM processes JOIN operations USING (operation_id)
WHERE (:roots IS NULL OR processes.root IN (SELECT value FROM json_each(:roots)))
    AND (:principal IS NULL OR operations.principal = :principal)
    AND (:state IS NULL OR processes.state = :state)
    AND (:before IS NULL OR processes.process_id < :before)
ORDER BY processes.process_id DESC LIMIT :limit;


-- name: insert_journal_entry
-- What is about to happen to one file.
INSERT INTO journal (
    operation_id, ordinal, path, before_version, before_mode, before_content, after_version,
    after_mode, temporary
) VALUES (
    :operation_id, :ordinal, :path, :before_version, :before_mode, :before_content,
    :after_version, :after_mode, :temporary
);

-- name: insert_journal_folder
-- A folder that the operation makes.
INSERT INTO journal_folders (operation_id, ordinal, path)
VALUES (:operation_id, :ordinal, :path);

-- name: journal_entries
-- In the order of the plan.
SELECT * FROM journal WHERE operation_id = :operation_id ORDER BY ordinal;

-- name: journal_folders
-- Outermost first.
SELECT path FROM journal_folders WHERE operation_id = :operation_id ORDER BY ordinal;


-- name: insert_event
-- The next link of the chain, returned as stored.
INSERT INTO events (seq, at, kind, operation_id, actor, data, previous_hash, hash)
VALUES (:seq, :at, :kind, :operation_id, :actor, :data, :previous_hash, :hash)
RETURNING *;

-- name: last_event
-- The present end of the chain; no row in an empty ledger.
SELECT * FROM events ORDER BY seq DESC LIMIT 1;

-- name: events_of
-- What happened to one operation, in order.
SELECT * FROM events WHERE operation_id = :operation_id ORDER BY seq;

-- name: events_after
-- The next events behind a position.
SELECT * FROM events WHERE seq > :seq ORDER BY seq LIMIT :limit;

-- Every change and every command, recorded before it starts.
CREATE TABLE operations (
    operation_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    root TEXT NOT NULL,
    principal TEXT NOT NULL,
    operation_key TEXT,
    binds_key INTEGER NOT NULL CHECK (binds_key IN (0, 1)),
    fingerprint TEXT NOT NULL,
    request TEXT NOT NULL,          -- JSON
    work_id TEXT,
    approval_id TEXT,
    parent_id TEXT,
    process_id TEXT,
    planned_outcome TEXT,           -- JSON; what the row is to answer once the plan is on disk
    outcome TEXT,                   -- JSON
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK (binds_key = 0 OR operation_key IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX operations_by_bound_key
    ON operations (root, principal, operation_key) WHERE binds_key = 1;
CREATE INDEX operations_by_key
    ON operations (root, principal, operation_key, operation_id) WHERE operation_key IS NOT NULL;
CREATE INDEX operations_by_status ON operations (kind, status);

-- What the supervisor said of each command, last.
CREATE TABLE processes (
    process_id TEXT NOT NULL PRIMARY KEY,
    operation_id TEXT NOT NULL UNIQUE REFERENCES operations (operation_id),
    root TEXT NOT NULL,
    state TEXT NOT NULL,
    argv TEXT NOT NULL,             -- JSON
    tty INTEGER NOT NULL CHECK (tty IN (0, 1)),
    created_at TEXT NOT NULL,
    termination TEXT,
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    ended_at TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX processes_by_state ON processes (state);

-- What a patch is about to do to each file, and what was there before.
CREATE TABLE journal (
    operation_id TEXT NOT NULL REFERENCES operations (operation_id),
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,
    before_version TEXT NOT NULL,   -- all 64 digits, or 'absent'
    before_mode INTEGER,
    before_content BLOB,            -- NULL: absent, or kept as a blob file named by the version
    after_version TEXT NOT NULL,
    after_mode INTEGER,
    temporary TEXT NOT NULL,        -- file name beside the path
    PRIMARY KEY (operation_id, ordinal)
) STRICT;

-- Folders that a patch makes, outermost first.
CREATE TABLE journal_folders (
    operation_id TEXT NOT NULL REFERENCES operations (operation_id),
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (operation_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Everything that happened, each row chained to the one before.
CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    operation_id TEXT,
    actor TEXT NOT NULL,
    data TEXT NOT NULL,             -- JSON
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_operation ON events (operation_id, seq) WHERE operation_id IS NOT NULL;

CREATE TRIGGER events_are_never_updated BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

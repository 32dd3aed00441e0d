"""The ledger: entries, identity rows, projections and checkpoints."""

from alembic import context, op

from memory.database.address import application_role

revision = "2026_09_27_initial"
down_revision = None
branch_labels = None
depends_on = None

EXTENSION = "CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public"

IDENTITY = """
CREATE TABLE projects (
    id uuid NOT NULL,
    name text NOT NULL,
    description text,
    source_client text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_projects PRIMARY KEY (id),
    CONSTRAINT uq_projects_name UNIQUE (name)
);
CREATE TABLE sessions (
    id uuid NOT NULL,
    provider text NOT NULL,
    source_session_id text NOT NULL,
    source_client text NOT NULL,
    machine text NOT NULL,
    project_id uuid,
    parent_id uuid,
    title text,
    directory text,
    payload jsonb NOT NULL DEFAULT '{}'::jsonb,
    started_at timestamptz,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_sessions PRIMARY KEY (id),
    CONSTRAINT uq_sessions_provider_source_session_id UNIQUE (provider, source_session_id),
    CONSTRAINT fk_sessions_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);
CREATE INDEX ix_sessions_project_id ON sessions (project_id);
CREATE INDEX ix_sessions_parent_id ON sessions (parent_id);
CREATE TABLE epochs (
    epoch integer NOT NULL,
    system_identifier bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_epochs PRIMARY KEY (epoch)
);
INSERT INTO epochs (epoch, system_identifier)
    SELECT 1, system_identifier FROM pg_control_system();
"""

ENTRIES = """
CREATE SEQUENCE entries_seq AS bigint;
CREATE TABLE entries (
    id uuid NOT NULL,
    kind text NOT NULL,
    project_id uuid,
    session_id uuid,
    source_client text NOT NULL,
    provider text NOT NULL,
    machine text NOT NULL,
    source_id text,
    version integer NOT NULL DEFAULT 1,
    role text,
    position bigint,
    key text COLLATE "C",
    content text NOT NULL,
    payload jsonb,
    origin jsonb,
    content_hash bytea NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    supersedes uuid,
    epoch integer NOT NULL DEFAULT 1,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint NOT NULL DEFAULT nextval('entries_seq'),
    CONSTRAINT pk_entries PRIMARY KEY (id),
    CONSTRAINT ck_entries_kind CHECK (kind IN ('message', 'fact', 'decision', 'preference',
        'event', 'project_state', 'session', 'binding', 'machine')),
    CONSTRAINT ck_entries_source_id CHECK (octet_length(source_id) <= 512),
    CONSTRAINT ck_entries_key CHECK (octet_length(key) <= 1024),
    CONSTRAINT ck_entries_content_hash CHECK (octet_length(content_hash) = 32),
    CONSTRAINT ck_entries_occurred_at CHECK (isfinite(occurred_at)),
    CONSTRAINT uq_entries_session_id_source_id_version UNIQUE (session_id, source_id, version),
    CONSTRAINT uq_entries_supersedes UNIQUE (supersedes),
    CONSTRAINT fk_entries_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
    CONSTRAINT fk_entries_session_id FOREIGN KEY (session_id) REFERENCES sessions (id),
    CONSTRAINT fk_entries_supersedes FOREIGN KEY (supersedes) REFERENCES entries (id)
);
ALTER SEQUENCE entries_seq OWNED BY entries.seq;
CREATE UNIQUE INDEX uq_entries_key ON entries (project_id, kind, key, version)
    NULLS NOT DISTINCT WHERE key IS NOT NULL;
CREATE INDEX ix_entries_provider_source_id ON entries (provider, source_id);
CREATE INDEX ix_entries_session_id_position_occurred_at_seq
    ON entries (session_id, position, occurred_at, seq);
CREATE INDEX ix_entries_epoch_xid_seq ON entries (epoch, xid, seq);
CREATE INDEX ix_entries_source_client_epoch_xid_seq ON entries (source_client, epoch, xid, seq);
CREATE INDEX ix_entries_project_id_kind_recorded_at ON entries (project_id, kind, recorded_at);
CREATE INDEX ix_entries_recorded_at ON entries (recorded_at);
"""

PROJECTIONS = """
CREATE TABLE heads (
    entry_id uuid NOT NULL,
    project_id uuid,
    kind text NOT NULL,
    key text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    CONSTRAINT pk_heads PRIMARY KEY (entry_id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX uq_heads_key ON heads (project_id, kind, key) NULLS NOT DISTINCT;
CREATE TABLE search (
    entry_id uuid NOT NULL,
    words tsvector NOT NULL,
    length integer NOT NULL,
    CONSTRAINT pk_search PRIMARY KEY (entry_id)
);
CREATE INDEX ix_search_words ON search USING gin (words) WITH (fastupdate = off);
CREATE TABLE search_progress (
    one boolean NOT NULL DEFAULT true,
    epoch integer NOT NULL,
    xid xid8 NOT NULL,
    seq bigint NOT NULL,
    entries bigint NOT NULL,
    total_length bigint NOT NULL,
    rules integer NOT NULL,
    CONSTRAINT pk_search_progress PRIMARY KEY (one),
    CONSTRAINT ck_search_progress_one CHECK (one)
);
CREATE TABLE vectors (
    entry_id uuid NOT NULL,
    model text NOT NULL,
    embedding halfvec(384) NOT NULL,
    CONSTRAINT pk_vectors PRIMARY KEY (entry_id, model)
);
CREATE INDEX ix_vectors_embedding ON vectors USING hnsw (embedding halfvec_cosine_ops);
CREATE TABLE checkpoints (
    provider text NOT NULL,
    machine text NOT NULL,
    path text NOT NULL,
    state jsonb NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_checkpoints PRIMARY KEY (provider, machine, path)
);
"""

# ENABLE ALWAYS: without it `session_replication_role = replica` would switch the triggers off.
APPEND_ONLY = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % on % refused', tg_op, tg_table_name
        USING ERRCODE = '23001';
END
$$;
"""
APPEND_ONLY_TABLES = ("projects", "sessions", "epochs", "entries")

# Whoever is named in DATABASE_URL appends and reads. What the ledger itself says of an entry (when
# it was recorded, its place in the feed) is for the server to fill in, not for that role.
GRANTS = """
DO $$
BEGIN
    IF current_user <> '{role}' AND EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO "{role}"', current_schema());
        GRANT SELECT ON alembic_version, epochs, projects, sessions, entries TO "{role}";
        GRANT INSERT (id, name, description, source_client) ON projects TO "{role}";
        GRANT INSERT (id, provider, source_session_id, source_client, machine, project_id,
            parent_id, title, directory, payload, started_at) ON sessions TO "{role}";
        GRANT INSERT (id, kind, project_id, session_id, source_client, provider, machine,
            source_id, version, role, position, key, content, payload, origin, content_hash,
            occurred_at, supersedes, seq) ON entries TO "{role}";
        GRANT USAGE ON SEQUENCE entries_seq TO "{role}";
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON heads, search, search_progress, vectors, checkpoints TO "{role}";
    END IF;
END
$$;
"""


def upgrade() -> None:
    op.execute(EXTENSION)
    op.execute(IDENTITY)
    op.execute(ENTRIES)
    op.execute(PROJECTIONS)
    op.execute(APPEND_ONLY)
    for table in APPEND_ONLY_TABLES:
        op.execute(
            f"CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
        op.execute(
            f"CREATE TRIGGER append_only_table BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER append_only_rows")
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER append_only_table")
    role = application_role(context.config.attributes["settings"])
    op.execute(GRANTS.replace("{role}", role))


def downgrade() -> None:
    op.execute(
        "DROP TABLE checkpoints, vectors, search_progress, search, heads, entries, epochs,"
        " sessions, projects"
    )
    op.execute("DROP FUNCTION refuse_change()")

"""Search by postings in segments instead of a GIN index; the words are indexed anew."""

from alembic import context, op

from memory.database.address import application_role

revision = "2026_11_29_segments"
down_revision = "2026_09_27_initial"
branch_labels = None
depends_on = None

# Numbers in arrays hardly compress, and a search reads them whole.
NEW = """
DROP TABLE search, search_progress;
CREATE TABLE search (
    generation integer NOT NULL,
    ordinal integer NOT NULL,
    entry_id uuid NOT NULL,
    length integer NOT NULL,
    labels text NOT NULL,
    lexemes text NOT NULL,
    ends bytea NOT NULL,
    positions bytea NOT NULL,
    CONSTRAINT pk_search PRIMARY KEY (generation, ordinal),
    CONSTRAINT uq_search_generation_entry_id UNIQUE (generation, entry_id)
);
CREATE TABLE search_progress (
    generation integer NOT NULL,
    state text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    epoch integer NOT NULL,
    xid xid8 NOT NULL,
    seq bigint NOT NULL,
    entries bigint NOT NULL,
    total_length bigint NOT NULL,
    rules integer NOT NULL,
    CONSTRAINT pk_search_progress PRIMARY KEY (generation),
    CONSTRAINT ck_search_progress_state CHECK (state IN ('live', 'building', 'retired'))
);
CREATE UNIQUE INDEX uq_search_progress_live ON search_progress (state) WHERE state <> 'retired';
CREATE TABLE search_segments (
    id integer GENERATED ALWAYS AS IDENTITY,
    generation integer NOT NULL,
    first integer NOT NULL,
    entries integer NOT NULL,
    stamp uuid NOT NULL DEFAULT gen_random_uuid(),
    lengths bytea NOT NULL,
    weights bytea NOT NULL,
    times bytea NOT NULL,
    sessions bytea NOT NULL,
    CONSTRAINT pk_search_segments PRIMARY KEY (id)
);
CREATE TABLE search_postings (
    term text COLLATE "C" NOT NULL,
    segment integer NOT NULL,
    places bytea NOT NULL,
    counts bytea NOT NULL,
    CONSTRAINT pk_search_postings PRIMARY KEY (term, segment)
);
CREATE INDEX ix_search_postings_segment ON search_postings (segment);
ALTER TABLE search_postings ALTER places SET STORAGE EXTERNAL, ALTER counts SET STORAGE EXTERNAL;
"""
OLD = """
DROP TABLE search_postings, search_segments, search_progress, search;
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
"""
GRANTS = """
DO $$
BEGIN
    IF current_user <> '{role}' AND EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO "{role}";
    END IF;
END
$$;
"""


def upgrade() -> None:
    op.execute(NEW)
    _grant("search, search_progress, search_segments, search_postings")


def downgrade() -> None:
    op.execute(OLD)
    _grant("search, search_progress")


def _grant(tables: str) -> None:
    role = application_role(context.config.attributes["settings"])
    op.execute(GRANTS.replace("{role}", role).replace("{tables}", tables))

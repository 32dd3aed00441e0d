"""Postings stand in pages with their positions, not in a row a term; the index is filled anew."""

from alembic import context, op

from memory.database.address import application_role

revision = "2026_11_30_term_pages"
down_revision = "2026_11_30_said"
branch_labels = None
depends_on = None

# Numbers in arrays hardly compress, and terms are looked through in every page. A row that fills a
# page of the database needs no second look elsewhere. Segments that were joined leave dead rows;
# the next ones take their room when it is free soon.
NEW = """
TRUNCATE search, search_progress, search_segments;
ALTER TABLE search DROP lexemes, DROP ends, DROP positions;
DROP TABLE search_postings;
CREATE TABLE search_postings (
    segment integer NOT NULL,
    first text COLLATE "C" NOT NULL,
    terms text NOT NULL,
    sizes integer[] NOT NULL,
    places bytea NOT NULL,
    counts bytea NOT NULL,
    positions bytea NOT NULL,
    CONSTRAINT pk_search_postings PRIMARY KEY (segment, first)
) WITH (
    toast_tuple_target = 8160,
    autovacuum_vacuum_scale_factor = 0.02,
    toast.autovacuum_vacuum_scale_factor = 0.02
);
ALTER TABLE search_postings ALTER terms SET STORAGE EXTERNAL, ALTER sizes SET STORAGE EXTERNAL,
    ALTER places SET STORAGE EXTERNAL, ALTER counts SET STORAGE EXTERNAL,
    ALTER positions SET STORAGE EXTERNAL;
"""
OLD = """
TRUNCATE search, search_progress, search_segments;
ALTER TABLE search ADD lexemes text NOT NULL, ADD ends bytea NOT NULL, ADD positions bytea NOT NULL;
DROP TABLE search_postings;
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
GRANTS = """
DO $$
BEGIN
    IF current_user <> '{role}' AND EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON search_postings TO "{role}";
    END IF;
END
$$;
"""


def upgrade() -> None:
    op.execute(NEW)
    _grant()


def downgrade() -> None:
    op.execute(OLD)
    _grant()


def _grant() -> None:
    role = application_role(context.config.attributes["settings"])
    op.execute(GRANTS.replace("{role}", role))

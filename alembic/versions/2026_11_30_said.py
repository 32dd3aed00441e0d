"""The index keeps what an entry said and when, and which entries are prose; it is filled anew."""

from alembic import op

revision = "2026_11_30_said"
down_revision = "2026_11_29_segments"
branch_labels = None
depends_on = None

EMPTY = "TRUNCATE search, search_progress, search_segments, search_postings"


def upgrade() -> None:
    op.execute(EMPTY)
    op.execute("ALTER TABLE search_segments ADD spoken bytea NOT NULL")
    op.execute("ALTER TABLE search ADD occurred_at timestamptz NOT NULL, ADD said bigint NOT NULL")


def downgrade() -> None:
    op.execute(EMPTY)
    op.execute("ALTER TABLE search_segments DROP spoken")
    op.execute("ALTER TABLE search DROP occurred_at, DROP said")

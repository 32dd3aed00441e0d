"""Run the migrations of one ledger, with pg8000 whatever driver the URL names."""

from alembic import context
from sqlalchemy import Connection, text

from memory.database.address import search_path
from memory.database.schema import owner_engine
from memory.projections import Search
from memory.settings import Settings

config = context.config
settings: Settings = config.attributes.get("settings") or Settings.from_environment()
config.attributes["settings"] = settings  # a migration reads them too


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Leave Alembic's own table out of the comparison with the models."""
    return not (kind == "table" and name == "alembic_version")


def migrate(connection: Connection) -> None:
    """Run the migrations in one transaction, one process at a time."""
    context.configure(
        connection=connection,
        target_metadata=Search.metadata,  # of the tables in memory.models too
        compare_type=True,
        version_table_schema=settings.ledger,  # else another ledger's in `public` would be taken
        include_name=is_ours,
    )
    with context.begin_transaction():
        # CREATE ... IF NOT EXISTS races with itself, so every builder waits here first.
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('migrate', 0))"))
        connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{settings.ledger}"'))
        connection.execute(text(f"SET LOCAL search_path TO {search_path(settings)}"))
        context.run_migrations()


if context.is_offline_mode():
    context.configure(
        dialect_name="postgresql",
        target_metadata=Search.metadata,  # of the tables in memory.models too
        literal_binds=True,
        version_table_schema=settings.ledger,
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    with owner_engine(settings).connect() as session:
        migrate(session)

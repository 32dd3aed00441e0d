"""The proof of coverage as people read it: aligned tables, and what is wrong below them."""

from collections.abc import Iterable, Sequence
from typing import Final

from importers.alarm import words
from importers.findings import ClientProof, FileProof
from importers.keeping import SOON_DAYS, Keeping
from memory.cli.output import one_line, say, table

__all__ = ["show_coverage"]

MAX_FILES: Final = 30  # whole files of one client that have a line; the JSON answer has all
_SHOWN: Final = 10  # of everything else
_HEADERS: Final = (
    *("records", "entries", "skipped", "unreadable", "missing", "changed", "vanished"),
    "file",
)


def show_coverage(clients: Iterable[ClientProof], keepings: Sequence[Keeping]) -> None:
    """Print what was found of each client, and what each client will do to its own files."""
    for client in clients:
        _show_client(client)
        for each in keepings:
            if each.client == client.provider:
                _show_keeping(each)


def _show_client(client: ClientProof) -> None:
    gone = sum(each.entries for each in client.vanished)
    if not client.stores:
        said = f"; {gone:,} entries are stored from elsewhere or before" if gone else ""
        say(f"{client.provider}: no store on this machine{said}")
        return
    lacks = client.total("missing") + client.total("changed")
    say(
        f"{client.provider}: the ledger has {client.per_cent:g} % of {len(client.files):,} files:"
        f" {client.records:,} records, {client.total('entries'):,} entries"
        f" ({client.distinct:,} of them different), {lacks:,} missing or changed"
    )
    if client.mended:
        say(f"  {client.mended:,} entries that were missing are stored now")
    shown = [file for file in client.files if not file.is_whole]
    shown += [file for file in client.files if file.is_whole][:MAX_FILES]
    if shown:
        rows = [_row(file) for file in shown]
        table(_HEADERS, rows, right=" ".join(_HEADERS[:-1]))
    _more(len(client.files) - len(shown), "files, of which the ledger has everything")
    _show_faults(client)


def _row(file: FileProof) -> tuple[str, ...]:
    numbers = (
        *(file.records, file.entries, file.skipped.total(), file.unreadable),
        *(file.missing, file.changed, file.vanished),
    )
    return (*(f"{number:,}" for number in numbers), one_line(file.path))


def _show_faults(client: ClientProof) -> None:
    for file in client.files:
        if file.is_strange:
            say(f"  ALARM: {one_line(file.path)}: {words(file.records, file.unknown)}")
        if file.failed:
            say(f"  FAILED: {one_line(file.path)}: {one_line(file.failed)}")
    for each in client.lacking[:_SHOWN]:
        why = "changed" if each.is_changed else "missing"
        place = "" if each.offset is None else f" at {one_line(str(each.offset))}"
        say(f"  {why}: {one_line(each.id)}{place} of {one_line(each.path)}")
    _more(client.total("missing") + client.total("changed") - len(client.lacking[:_SHOWN]), "")
    if client.lacking:
        say("  `memory import` reads what is new; `memory coverage --mend` stores the rest")
    for record in client.unreadable_records[:_SHOWN]:
        say(f"  unreadable: {one_line(record.path)} at {record.offset}: {one_line(record.reason)}")
    _more(client.total("unreadable") - len(client.unreadable_records[:_SHOWN]), "")
    if client.total("gaps"):
        say(f"  in {client.total('gaps'):,} places the client lost a text before it wrote it")
    gone = client.vanished
    for kept in gone[:_SHOWN]:
        say(
            f"  only in the ledger: {kept.entries:,} entries of {one_line(kept.path)} ({kept.reason})"
        )
    _more(len(gone) - _SHOWN, "files")


def _show_keeping(keeping: Keeping) -> None:
    say(f"  {keeping.detail}")
    if not keeping.due:
        return
    say(f"  {len(keeping.due):,} transcripts are due within {SOON_DAYS} days:")
    for each in keeping.due[:_SHOWN]:
        when = f"in {each.days_left:.1f} days" if each.days_left else "when it starts next"
        say(f"    {when}: {one_line(each.path)}")
    _more(len(keeping.due) - _SHOWN, "")


def _more(count: int, what: str) -> None:
    if count > 0:
        say(f"  and {count:,} more {what}".rstrip() + " (--json tells more)")

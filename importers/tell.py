"""Reports as lines for people."""

from collections import Counter
from collections.abc import Iterator

from importers.alarm import words
from importers.base import Unreadable
from importers.report import ClientReport, Report

__all__ = ["told"]

_SHOWN = 10  # of each kind; the JSON answer has more


def told(report: Report) -> Iterator[str]:
    """Yield what a pass did, a few lines a client."""
    for client in report.clients:
        yield from _client(client)
    if report.stopped:
        yield "Stopped early; the next run goes on from here."


def _client(client: ClientReport) -> Iterator[str]:
    if not client.stores:
        yield f"{client.provider}: no store on this machine"
        return
    yield (
        f"{client.provider}: {client.files:,} files, {client.records:,} new records;"
        f" {client.appended:,} entries appended, {client.known:,} already known,"
        f" {client.sessions:,} new sessions"
    )
    yield from _counts("skipped", client.skipped)
    yield from _counts("redacted", client.redacted)
    if client.changed:
        yield f"  changed by the client and kept in both versions: {client.changed:,}"
    yield from _records("unreadable", client.unreadable, client.unreadable_records)
    yield from _records("refused by the ledger", client.refused, client.refused_records)
    for happened in client.events[:_SHOWN]:
        yield f"  {happened.event}: {happened.path}"
    yield from _more(len(client.events) + client.more_events)
    for strange in client.strange[:_SHOWN]:
        yield f"  ALARM: {strange.path}: {words(strange.records, strange.unknown)}"
    yield from _more(len(client.strange) + client.more_strange)
    for failed in client.failed[:_SHOWN]:
        yield f"  FAILED: {failed.path}: {failed.reason}"
    yield from _more(len(client.failed) + client.more_failed)
    if not client.adds_up:
        yield "  These numbers do not add up; please report it."


def _counts(name: str, counts: Counter[str]) -> Iterator[str]:
    if counts:
        each = ", ".join(f"{what} {count:,}" for what, count in sorted(counts.items()))
        yield f"  {name} {counts.total():,}: {each}"


def _records(name: str, count: int, records: list[Unreadable]) -> Iterator[str]:
    if not count:
        return
    yield f"  {name}: {count:,}"
    for record in records[:_SHOWN]:
        yield f"    {record.path} at byte {record.offset}: {record.reason}"
    yield from _more(count)


def _more(count: int) -> Iterator[str]:
    if count > _SHOWN:
        yield f"    and {count - _SHOWN:,} more (--json tells up to a hundred)"

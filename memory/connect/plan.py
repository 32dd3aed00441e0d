"""Changes to clients' files: planned, shown, carried out, and taken back."""

import contextlib
import difflib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memory import crud_secret
from memory.connect import files
from memory.connect.files import Changed, Content, Unwritable
from memory.connect.parts import Part, Taken
from memory.connect.places import MISREAD, unreadable
from memory.connect.receipts import Receipt, Receipts, digest

__all__ = ["Change", "carry_out", "connecting", "disconnecting"]

_TRIES: Final = 3  # how often a file that a client writes to meanwhile is read anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of one file; ``data`` is its next content, None for none.

    ``is_new`` says that it is connected, not disconnected.
    """

    client: str
    part: Part
    content: Content
    data: bytes | None
    is_new: bool

    @property
    def kind(self) -> str:
        """What happens to the file: none, create, edit or remove."""
        if self.data == self.content.data:
            return "none"
        if self.content.data is None:
            return "create"
        return "remove" if self.data is None else "edit"

    def diff(self) -> str:
        """Return what changes as a unified diff; credentials in lines around it are redacted."""
        before = self.content.text.splitlines()
        after = replace(self.content, data=self.data).text.splitlines()
        lines = difflib.unified_diff(
            before, after, str(self.content.path), str(self.content.path), n=1, lineterm=""
        )
        return crud_secret.redact("\n".join(lines))[0]


def connecting(client: str, part: Part) -> Change:
    """Plan how a file comes to name this ledger. Raises Unwritable for one that cannot be edited.

    Its code is ``name_taken`` where somebody else's server has the name of ours.
    """
    content = files.read(part.path)
    try:
        text = part.connected(content.text)
        _check(part, content.text, text)
    except Taken as error:
        raise Unwritable(
            f"{part.path} has an entry {error} that does not start this program's server, so it is"
            " left alone; rename or remove that entry, then run this again.",
            code="name_taken",
        ) from None
    except MISREAD as error:
        raise unreadable(part.path, error) from None
    data = content.encoded(text) if text != content.text else content.data
    return Change(client=client, part=part, content=content, data=data, is_new=True)


def disconnecting(client: str, part: Part, receipts: Receipts) -> Change:
    """Plan how a file comes to be as it was: byte for byte when nobody has changed it since.

    Raises Unwritable for a file that cannot be read.
    """
    content = files.read(part.path)
    planned = Change(client=client, part=part, content=content, data=None, is_new=False)
    if content.data is None:
        return planned
    receipt = receipts.find(content.path)
    original = _original(receipts, receipt)
    is_known = receipt is not None and (original is not None or not receipt.backup)
    if receipt and is_known and receipt.is_whole and receipt.after == digest(content.data):
        return replace(planned, data=original)
    try:
        first = replace(content, data=original).text if original is not None else None
        text = part.disconnected(content.text, first)
        _check(part, content.text, text)
        is_bare = receipt is not None and not receipt.backup and _is_bare(part, text)
    except MISREAD as error:
        raise unreadable(part.path, error) from None
    data = content.encoded(text) if text != content.text else content.data
    return replace(planned, data=None if is_bare else data)


def carry_out(change: Change, receipts: Receipts) -> Path | None:
    """Make a change and return the backup of what stood there, None when nothing did.

    A file that was written to since it was planned is read and planned anew. Raises Unwritable.
    """
    for _ in range(_TRIES):
        if change.kind == "none":
            return None
        with contextlib.suppress(Changed):
            return _made(change, receipts)
        if change.is_new:
            change = connecting(change.client, change.part)
        else:
            change = disconnecting(change.client, change.part, receipts)
    raise Unwritable(
        f"{change.content.path} is being written to all the time; close the client, then run this"
        " again. Nothing was changed.",
        code="config_busy",
    )


def _made(change: Change, receipts: Receipts) -> Path | None:
    path = change.content.path
    before = receipts.find(path)
    backup = receipts.back_up(change.content)
    if change.data is None:
        files.remove(change.content)
        made: list[Path] = []
    else:
        made = files.write(change.content, change.data)
    if change.is_new:
        receipts.keep(path, _receipt(change, before, backup, made))
        return backup
    receipts.forget(path)
    if change.data is None and before:
        for folder in before.folders:
            with contextlib.suppress(OSError):  # somebody else has put something there
                Path(folder).rmdir()
    return backup


def _receipt(
    change: Change, before: Receipt | None, backup: Path | None, made: list[Path]
) -> Receipt:
    """Return the receipt; the first content stays that of the first connecting."""
    after = digest(change.data)
    if before is None:
        text = change.content.text
        return Receipt(
            after=after,
            backup=str(backup or ""),
            # An entry made by hand must not come back.
            is_whole=not text or change.part.disconnected(text, text) == text,
            folders=tuple(map(str, made)),
        )
    is_whole = before.is_whole and before.after == digest(change.content.data)
    return replace(before, after=after, is_whole=is_whole)


def _original(receipts: Receipts, receipt: Receipt | None) -> bytes | None:
    try:
        return receipts.original(receipt) if receipt else None
    except Unwritable:  # the backup is gone: what is this program's is taken out all the same
        return None


def _is_bare(part: Part, text: str) -> bool:
    """Return whether a file holds nothing but what a new one begins with."""
    return bool(part.rest(text) == part.rest(""))


def _check(part: Part, before: str, after: str) -> None:
    """See that an edit kept everything else. Raises ValueError."""
    if part.rest(before) != part.rest(after):
        raise ValueError("an edit would change something else in it")

"""Images and documents in Claude Code's content blocks."""

from collections.abc import Mapping
from typing import Any

from importers.attachments import attachment

__all__ = ["blob", "is_blob", "without_blobs"]


def is_blob(block: object) -> bool:
    """Tell whether a content block is an image, or a document that is not plain text."""
    source = block.get("source") if isinstance(block, dict) else None
    return isinstance(source, dict) and source.get("type") != "text"


def blob(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of an image or document (see `importers.attachments`)."""
    source = block["source"]
    media_type = str(source["media_type"]) if source.get("media_type") else None
    if isinstance(source.get("data"), str):
        url = f"data:{media_type or ''};base64,{source['data']}"
    else:
        url = str(source.get("url") or source.get("file_id") or "")
    name = str(block["title"]) if block.get("title") else None
    return attachment(url, media_type=media_type, name=name)


def without_blobs(value: Any) -> Any:
    """Return a JSON value with every image and document in it replaced by what is kept of it."""
    if isinstance(value, list):
        return [without_blobs(item) for item in value]
    if not isinstance(value, dict):
        return value
    if is_blob(value) and isinstance(value["source"].get("data"), str):
        return blob(value)
    return {key: without_blobs(item) for key, item in value.items()}

"""Images and documents: known by their hash, never carried along as base64."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any

__all__ = ["blob", "is_blob", "placeholder", "without_blobs"]


def is_blob(block: object) -> bool:
    """Tell whether a content block is an image or a document."""
    return isinstance(block, dict) and isinstance(block.get("source"), dict)


def blob(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of an image or document: type, media type, sha-256 and size in bytes."""
    source = block["source"]
    kept: dict[str, Any] = {"type": str(block.get("type"))}
    if source.get("media_type"):
        kept["media_type"] = str(source["media_type"])
    data = source.get("data")
    if isinstance(data, str):
        content = _bytes(data)
        kept |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    elif isinstance(source.get("url"), str) and not source["url"].startswith("data:"):
        kept["url"] = source["url"]
    elif isinstance(source.get("file_id"), str):
        kept["file_id"] = source["file_id"]
    return kept


def placeholder(kept: Mapping[str, Any]) -> str:
    """Return the text that stands for an image or document."""
    size = f", {kept['bytes']} bytes" if "bytes" in kept else ""
    return f"[{kept['type']} {kept.get('media_type', '')}".rstrip() + f"{size}]"


def without_blobs(value: Any) -> Any:
    """Return a JSON value with every image and document in it replaced by what is kept of it."""
    if isinstance(value, list):
        return [without_blobs(item) for item in value]
    if not isinstance(value, dict):
        return value
    if is_blob(value) and isinstance(value["source"].get("data"), str):
        return blob(value)
    return {key: without_blobs(item) for key, item in value.items()}


def _bytes(data: str) -> bytes:
    """Return the decoded data; text that is no base64 stands for itself."""
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return data.encode(errors="surrogatepass")

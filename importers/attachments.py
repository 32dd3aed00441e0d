"""Images and files inside messages: kept as hash, type and size, never as bytes.

The same screenshot is repeated in a client's store many times over, and nobody searches base64.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

__all__ = ["attachment", "label"]


def attachment(
    url: str, *, media_type: str | None = None, name: str | None = None
) -> dict[str, Any]:
    """Return what is kept of a file or image: type, media type, name, size in bytes and sha-256.

    ``media_type`` is the one that the client gave, otherwise that of the ``data:`` URL. Of any
    other URL the URL itself is kept.
    """
    header, _, body = url.removeprefix("data:").partition(",")
    is_data = url.startswith("data:")
    media_type = media_type or (header.split(";", 1)[0] if is_data else None) or None
    kept: dict[str, Any] = {"type": "image" if _is_image(media_type) else "file"}
    if media_type:
        kept["media_type"] = media_type
    if name:
        kept["name"] = name
    if not is_data:
        return {**kept, "url": url}
    content = _decoded(body) if header.endswith(";base64") else _bytes(body)
    return {**kept, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def label(kept: Mapping[str, Any]) -> str:
    """Return the words that stand in the text for a file or image."""
    words = [kept["type"], kept.get("name") or kept.get("url"), kept.get("media_type")]
    size = f", {kept['bytes']} bytes" if "bytes" in kept else ""
    return f"[{' '.join(word for word in words if word)}{size}]"


def _is_image(media_type: str | None) -> bool:
    return media_type is None or media_type.startswith("image/")


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        return _bytes(body)  # cut short, or no base64: still the same hash each time


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")

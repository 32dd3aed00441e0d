"""pi: its session files of every version become sessions and entries.

What is known of the format comes from pi's own documents and source, in github.com/earendil-works/pi
(formerly badlogic/pi-mono): ``packages/coding-agent/docs/session-format.md`` and, for its first
version, ``docs/session.md``; ``packages/coding-agent/src/core/session-manager.ts`` (lines, forks,
migrations), ``src/core/messages.ts`` and ``packages/ai/src/types.ts`` (messages),
``src/config.ts``, ``src/migrations.ts`` and ``docs/usage.md`` (places).
"""

from importers.pi.importer import PiImporter

__all__ = ["PiImporter"]

"""The importer of Codex as a program: ``python -m importers.codex --once``."""

import sys

from importers.__main__ import main

if __name__ == "__main__":
    sys.exit(main(client="codex"))

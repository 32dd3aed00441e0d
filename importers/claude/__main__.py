"""Claude Code's importer as a program: ``python -m importers.claude``."""

import sys

from importers.__main__ import main

if __name__ == "__main__":
    sys.exit(main(client="claude"))

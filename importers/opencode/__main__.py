"""The importer of OpenCode as a program: ``python -m importers.opencode --once``."""

import sys

from importers.__main__ import main

if __name__ == "__main__":
    sys.exit(main(client="opencode"))

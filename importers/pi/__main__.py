"""The importer of pi as a program: ``python -m importers.pi --once``."""

import sys

from importers.__main__ import main

if __name__ == "__main__":
    sys.exit(main(client="pi"))

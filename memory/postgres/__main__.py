"""Run the command line of the embedded server."""

import sys

from memory.postgres.cli import main

sys.exit(main())

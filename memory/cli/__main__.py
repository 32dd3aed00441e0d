"""Run the command line where its console script is not installed."""

import sys

from memory.cli import main

sys.exit(main())

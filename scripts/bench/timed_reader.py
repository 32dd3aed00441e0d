"""The process that reads ahead, with a stopwatch: import_store.py starts it in place of the product's.

What it measured goes into the file that TIMED_READER names, when it ends.
"""

import json
import os
import sys
import time
from pathlib import Path

from stopwatch import Stopwatch

from importers.reader import main

if __name__ == "__main__":
    watch = Stopwatch()
    watch.attach()
    main(*sys.argv[1:])
    spent = time.process_time()
    watch.seconds["hand over"] = spent - sum(watch.seconds.values())
    Path(os.environ["TIMED_READER"]).write_text(json.dumps({"cpu": spent, "parts": watch.seconds}))

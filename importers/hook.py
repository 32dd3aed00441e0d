"""``python -I -S importers/hook.py``: the quickest way to call a hook.

Python looks for no installed packages then, so this says where ours is. It holds nothing else: a
file that is started is compiled each time, what it imports is not.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - pathlib costs more than the hook itself

from importers.hooks import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

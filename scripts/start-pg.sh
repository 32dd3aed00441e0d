#!/bin/sh
# Start, stop or look at the embedded PostgreSQL:
#   scripts/start-pg.sh start|stop|restart|status [--json] [--timeout SECONDS]
# Exit status: 0 done (start: it accepts connections), 1 failed, 3 status: not running.
set -eu

script=$(readlink -f -- "$0")
root=$(dirname -- "$(dirname -- "$script")")
python=$root/.venv/bin/python

if [ ! -x "$python" ]; then
    echo "There is no $python yet. Run $root/scripts/up first." >&2
    exit 1
fi
# -P: a folder named memory in the caller's directory must not be taken for ours.
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} exec "$python" -P -m memory.postgres "$@"

#!/bin/sh
# Set the embedded PostgreSQL up without leaving anything running that did not run before: copy the
# programs, make the cluster, the roles and the databases. Doing it again changes nothing.
set -eu

exec "$(dirname -- "$(readlink -f -- "$0")")/start-pg.sh" bootstrap "$@"

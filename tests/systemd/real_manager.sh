#!/bin/sh
# Runs an ordinary user's systemd manager, and the installed unit in it, inside private mount, pid and cgroup namespaces.
# Usage: real_manager.sh HOME UID   (as root). Exits 77 with the reason where the machine doesn't allow it. Leaves nothing.
set -u
home=$1 uid=$2 here=$0
unavailable() { echo "$1"; exit 77; }

case ${3:-outside} in
outside)
  groups=/sys/fs/cgroup/unified
  [ -d $groups ] || groups=/sys/fs/cgroup
  mine=$groups/soul-test.$$
  mkdir $mine 2>/dev/null || unavailable "no control group may be made below $groups"
  trap 'find $mine -depth -type d -exec rmdir {} \; 2>/dev/null' EXIT
  unshare -m -p -C --fork true 2>/dev/null || unavailable "no namespaces may be made"
  # shellcheck disable=SC2016  # the inner shell expands its own arguments
  sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' sh $mine \
    timeout 100 unshare -m -p -C --fork --mount-proc --kill-child sh "$here" "$home" "$uid" as-root
  ;;
as-root)
  mount --make-rprivate /
  umount -l /sys/fs/cgroup 2>/dev/null
  mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || unavailable "no control groups of version 2 here"
  mount -t tmpfs none /run
  mkdir -p /run/systemd/system /run/systemd/unit-root /run/user/"$uid" /sys/fs/cgroup/manager
  chmod 700 /run/user/"$uid"
  chown "$uid" /run/user/"$uid" /sys/fs/cgroup/manager /sys/fs/cgroup/manager/cgroup.*
  echo $$ > /sys/fs/cgroup/manager/cgroup.procs
  exec setpriv --reuid="$uid" --regid="$uid" --clear-groups sh "$here" "$home" "$uid" as-user
  ;;
as-user)
  export HOME="$home" XDG_RUNTIME_DIR="/run/user/$uid" XDG_CONFIG_HOME="$home/.config"
  export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent
  data=$home/.local/share/soul
  printf '[Unit]\nDefaultDependencies=no\n' > "$home/.config/systemd/user/nothing.target"
  /lib/systemd/systemd --user --unit=nothing.target >/dev/null 2>&1 &
  manager=$!
  property() { systemctl --user show soul -p "$1" --value; }
  until_it_is() { # until_it_is PROPERTY VALUE: at most half a minute
    tries=0
    while [ "$(property "$1")" != "$2" ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
    echo "$1=$(property "$1")"
  }
  tries=0
  while [ ! -S "$XDG_RUNTIME_DIR/systemd/private" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  systemctl --user start soul; echo "start=$?"
  until_it_is StatusText connected
  touch "$data/sick"
  until_it_is NRestarts 1
  rm "$data/sick"
  until_it_is ActiveState active
  systemctl --user stop soul; echo "stop=$?"
  until_it_is ActiveState inactive
  touch "$data/misconfigured"
  systemctl --user start soul 2>/dev/null; echo "misconfigured=$?"
  until_it_is ActiveState failed
  echo "ExecMainStatus=$(property ExecMainStatus) NRestarts=$(property NRestarts)"
  kill $manager
  ;;
esac

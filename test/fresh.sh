#!/bin/bash
# usage: test/fresh.sh [TARGET]
# Prove that `make TARGET` (test, or demo) works as the first command on a fresh machine with a compiler, make and a
# package manager: in a new debootstrap tree of each of DISTRIBUTIONS (bookworm is Debian 12, trixie 13), with what is
# committed. Needs root, debootstrap and the network; leaves nothing behind.
set -eu
target=${1:-test}
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
        echo "fresh.sh needs root and debootstrap: sudo apt-get install debootstrap, then sudo $0" >&2
        exit 2
fi

trees=$(mktemp -d)
clean_up() {
        for tree in "$trees"/*/; do
                umount "$tree/proc" 2>/dev/null || true
        done
        if grep -q " $trees/" /proc/mounts; then
                echo "fresh.sh: something is still mounted under $trees, left as it is" >&2
        else
                rm -rf --one-file-system "$trees"
        fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# A machine of its own as far as packages go; how the network is reached is this one's.
make_tree() { # distribution, tree
        debootstrap --variant=minbase --include=gcc,libc6-dev,make "$1" "$2" ${MIRROR:+"$MIRROR"} >"$trees/log" 2>&1 ||
                { tail -n 20 "$trees/log"; return 1; }
        cp /etc/resolv.conf "$2/etc/resolv.conf"
        apt-config dump | grep -E '^Acquire::(http|https|Retries|Check)' >"$2/etc/apt/apt.conf.d/90host" || true
        mount -t proc proc "$2/proc"
        mkdir "$2/halflife"
        git archive HEAD | tar -x -C "$2/halflife"
}

failed=0
for distribution in ${DISTRIBUTIONS:-bookworm trixie}; do
        tree=$trees/$distribution
        start=$SECONDS
        make_tree "$distribution" "$tree"
        version=$(chroot "$tree" cat /etc/debian_version)
        made=$((SECONDS - start))
        if env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb STRICT=1 TEST_SECONDS=900 \
                JOBS=$(($(nproc) * 2)) MAKEFLAGS="-j$(nproc)" chroot "$tree" make -C /halflife "$target" >"$trees/log" 2>&1 </dev/null; then
                verdict="$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$trees/log" | tail -n 1 || true)"
                printf 'Debian %-6s make %s: %s (tree %d s, all %d s)\n' "$version" "$target" "${verdict:-done}" "$made" $((SECONDS - start))
        else
                printf 'Debian %-6s make %s: FAILED\n' "$version" "$target"
                grep -vE "^(  (CC|LD|AR) |make.*directory)| passed +[0-9.]+ s" "$trees/log" | tail -n 60
                failed=1
        fi
        umount "$tree/proc"
        rm -rf --one-file-system "$tree"
done
exit $failed

#!/bin/bash
# usage: test/fresh.sh [TARGET]          test or demo
#        test/fresh.sh release FOLDER    and put the files of the release into FOLDER
# Prove that `make TARGET` works as the first command on a fresh machine with a compiler, make and a package manager: in a
# new debootstrap tree of each of DISTRIBUTIONS (bookworm is Debian 12, trixie 13), with what is committed; a release is
# made of a clone, on bookworm. Needs root, debootstrap and the network; leaves nothing behind.
set -eu
target=${1:-test} keep=
cd "$(dirname "$0")/.."
if [ "$target" = release ]; then
        keep=$(realpath -m "${2:?release needs a folder}")
        : "${DISTRIBUTIONS:=bookworm}"
fi

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
        echo "fresh.sh needs root and debootstrap: sudo apt-get install debootstrap, then sudo $0" >&2
        exit 2
fi

. deploy/debian-tree
trees=$(mktemp -d)
running=()
clean_up() {
        for one in "${running[@]}"; do
                kill -TERM -- "-$one" 2>/dev/null || continue # it has ended
                timeout 30 bash -c "while kill -0 -- -$one 2>/dev/null; do sleep 0.1; done" || true
        done
        if grep -q " $trees/" /proc/mounts; then
                echo "fresh.sh: something is still mounted under $trees, left as it is" >&2
        else
                rm -rf --one-file-system "$trees"
        fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fresh_machine() { # distribution, tree
        make_tree "$1" "$2" gcc,libc6-dev,make && mkdir "$2/halflife" || return
        if [ -n "$keep" ]; then
                git clone -q --depth 1 "file://$PWD" "$2/halflife"
        else
                git archive HEAD | tar -x -C "$2/halflife"
        fi
}

# The tree is a mount, as a machine's root is, for what is made in it mounts folders as well. All mounts end with it.
within() { # tree, NAME=value... command...
        unshare --mount --propagation private sh -c 'tree=$1 && shift && mount --bind "$tree" "$tree" &&
                mount -t proc proc "$tree/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb "$@"' \
                within "$@"
}

prove() { # distribution; prints a line, and why where it fails
        local tree=$trees/$1 log=$trees/$1.log start=$SECONDS made version verdict words=("$target")
        fresh_machine "$1" "$tree" >"$log" 2>&1 || { echo "Debian $1: no tree"; tail -n 20 "$log"; return 1; }
        version=$(chroot "$tree" cat /etc/debian_version)
        made=$((SECONDS - start))
        [ -z "$keep" ] || words+=(VERSION="$(<"$tree/halflife/VERSION")")
        if ! within "$tree" STRICT=1 TEST_SECONDS=900 JOBS=$(($(nproc) * 2)) MAKEFLAGS="-j$(nproc)" \
                chroot "$tree" make -C /halflife "${words[@]}" >"$log" 2>&1 </dev/null; then
                printf 'Debian %-6s make %s: FAILED\n' "$version" "${words[*]}"
                grep -vE "^(  (CC|LD|AR) |make.*directory)| passed +[0-9.]+ s" "$log" | tail -n 60
                return 1
        fi
        verdict="$(grep -E '^[0-9]+ passed, [0-9]+ failed$|^image ' "$log" | tail -n 1 || true)"
        printf 'Debian %-6s make %s: %s (tree %d s, all %d s)\n' "$version" "${words[*]}" "${verdict:-done}" "$made" $((SECONDS - start))
        if [ -n "$keep" ]; then
                rm -rf "$keep" && mkdir -p "${keep%/*}" && cp -R "$tree/halflife/build/${words[1]/VERSION=/halflife-}" "$keep"
        fi
}

# Side by side: what one waits for is the other's time. Each in a process group of its own, to be ended as a whole.
set -m
for distribution in ${DISTRIBUTIONS:-bookworm trixie}; do
        prove "$distribution" >"$trees/$distribution.said" 2>&1 </dev/null &
        running+=($!)
done
failed=0
for one in "${running[@]}"; do
        wait "$one" || failed=1
done
cat "$trees"/*.said
exit $failed

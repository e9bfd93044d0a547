#!/bin/sh
# usage: helm.sh RELEASE CHART NAMESPACE [helm's options]...
# Helm 3, with halflife as its post-renderer. Helm 4 takes a post-renderer as a plug-in only: that of helm-plugin/.
set -eu
release=$1 chart=$2 namespace=$3
shift 3
set -- --post-renderer-args -n --post-renderer-args "$namespace" "$@"
set -- --post-renderer halflife --post-renderer-args render --post-renderer-args -f --post-renderer-args - "$@"
helm upgrade --install "$release" "$chart" -n "$namespace" "$@"

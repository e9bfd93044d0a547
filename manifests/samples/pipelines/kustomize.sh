#!/bin/sh
# usage: kustomize.sh FOLDER NAMESPACE
# Build a kustomization, render it, apply it. Each step in a file of its own, so that one that fails stops the next.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kubectl kustomize "$1" >"$work/built.yaml"
halflife render -f "$work/built.yaml" -n "$2" >"$work/deploy.yaml"
kubectl apply -n "$2" -f "$work/deploy.yaml"

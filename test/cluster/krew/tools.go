//go:build tools

// krew, by which the plug-in is installed as people do: named here so that go.mod and go.sum hold every module of it.
package krew

import _ "sigs.k8s.io/krew/cmd/krew"

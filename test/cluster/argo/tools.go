//go:build tools

// The controller of Argo Rollouts, which rolls what halflife patches: in a module of its own, as it asks for other versions.
package argo

import _ "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"

//go:build tools

// The VPA recommender, which halflife is compared with: in a module of its own, as it asks for other versions.
package peer

import _ "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender"

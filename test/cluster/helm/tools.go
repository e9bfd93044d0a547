//go:build tools

// Helm, which installs halflife's chart: in a module of its own, as it asks for other versions.
package helm

import _ "helm.sh/helm/v4/cmd/helm"

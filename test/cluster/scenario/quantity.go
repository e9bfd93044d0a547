package scenario

import (
	"path/filepath"
	"strings"
	"time"

	"halflife.dev/cluster/quantity"
	"halflife.dev/cluster/stage"
)

// Our reading of quantities is Kubernetes' own: the vectors and 100 000 random texts.
func quantities(t *stage.T) {
	const count = 100_000
	seed := time.Now().UnixNano()
	differ, err := quantity.Compare(filepath.Join(t.Root, "build", "release", "quantity-lines"), count, seed)
	t.Check(err)
	if len(differ) > 0 {
		t.Fatalf("%d of %d differ (seed %d):\n%s", len(differ), count, seed, strings.Join(differ[:min(20, len(differ))], "\n"))
	}
	t.Notef("%d random texts and the vectors, seed %d", count, seed)
}

package stage

import (
	"fmt"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/model"
)

const (
	// UsedCPU is the usage of the usual container in millicores.
	UsedCPU = 137
	// UsedMemory is the usage of the usual container in bytes.
	UsedMemory = 150 * Mi
	// OriginalsAnnotation records what the owner asked for.
	OriginalsAnnotation = "halflife.dev/original-resources"
	// AppliedAnnotation records what halflife has set.
	AppliedAnnotation = "halflife.dev/applied-resources"
)

// Expected holds the numbers of one resource of one container under a constant usage.
type Expected struct {
	original, model, target, lower, upper string
}

// Expect computes the numbers that a constant usage must give.
func Expect(r model.Resource, p model.Policy, usage, original int64) Expected {
	m := r.Model(usage)
	return Expected{
		original: r.Text(original), model: r.Text(m), target: r.Text(p.Target(m, original)),
		lower: r.Text(r.Lower(usage)), upper: r.Text(r.Upper(usage)),
	}
}

// Compare returns an error that names the first number in status that is not as expected; an original of "" is absent.
func (e Expected) Compare(status kube.Object) error {
	for _, f := range []struct{ name, want string }{
		{"original", e.original}, {"model", e.model}, {"target", e.target}, {"lower", e.lower}, {"upper", e.upper},
	} {
		if got := status.Text(f.name); got != f.want {
			return fmt.Errorf("%s is '%s', not '%s' in %s", f.name, got, f.want, status)
		}
	}
	return nil
}

// Targets returns the target of the usual container for CPU and memory.
func Targets() (string, string) { return TargetsOf(UsedCPU, UsedMemory) }

// LoweredOf returns what the usual policies make of that usage where the owner asks for more, in millicores and bytes.
func LoweredOf(cpu, memory int64) (int64, int64) {
	const much = 1 << 50
	return model.CPUDefault.Target(model.CPU.Model(cpu), much), model.MemoryDefault.Target(model.Memory.Model(memory), much)
}

// TargetsOf returns the target of the usual container under that usage, for CPU and memory.
func TargetsOf(cpu, memory int64) (string, string) {
	return model.CPU.Text(model.CPUDefault.Target(model.CPU.Model(cpu), 2000)),
		model.Memory.Text(model.MemoryDefault.Target(model.Memory.Model(memory), 1024*Mi))
}

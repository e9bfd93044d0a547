// Package quantity compares our reading and printing of quantities with Kubernetes' own.
package quantity

import (
	"bufio"
	"bytes"
	"fmt"
	"math/big"
	"math/rand"
	"os/exec"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const textMost = 63 // bytes that our canonical text has room for

// vectors are the texts that were wrong somewhere once, or stand at an edge of the grammar.
var vectors = strings.Fields(`0 0Ki 8Ki 5n 4u 3m 50k 1E 1E-3 1e14 100.035k 0.0005k 0.5e-2 1.3E+6 1.7E18 6.987654321G
	100.035Ki 0.5Mi 0.05Gi 3.001n 1.1E-9 0.0000000001 0.9n 0.00000012345 9223372036854775807Ki 0.000000000001Ki .001 .0001k
	1. 1.G 1.1.M 1+1.0M 0.1mi 0.1am aoeu .5i 1i -3.01i -3.01e- 1K 1ki 1e e 1E2Ki 1_000 0x10 1024Mi 307200Ki 1001Gi 1Ti
	5000m 0.5 0.001T 1000M 1.08 1234567M 1025 1e9 .001e12 1e-3 80e-3 300e6 00 .001Ki .000001Ki .000000001Ki
	.000000000001Ki . - + m Ki E e3 1.5Gi 1.25Mi 1.1Ki 0.3Gi 1024 1e19 +1 0001 0001Ki 1.500 1e03 1E6 1000E 12E 1e30 9Ei 8Ei
	-9Ei -1 -0 -1n 9223372036854775807 9223372036854775808 -9223372036854775808 9223372036854775807n 1e999 1e-999
	NaN Inf 18014398509481984Ki 999999999999999999999999 0.9999999999`)

// endless exponents make Kubernetes' own package compute a number with as many digits, for hours.
var endless = regexp.MustCompile(`[eE][-+]?[0-9]{4}`)

// Compare feeds count random texts and the vectors to the program and gives one line for each difference.
func Compare(program string, count int, seed int64) ([]string, error) {
	random := rand.New(rand.NewSource(seed))
	texts := append([]string{" 1", "1 ", "1 Ki"}, vectors...)
	for len(texts) < count+len(vectors) {
		if text := randomText(random); !endless.MatchString(text) {
			texts = append(texts, text)
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(strings.Join(texts, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	var differ []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	for _, text := range texts {
		if !lines.Scan() {
			return differ, fmt.Errorf("%s stopped at '%s'", program, text)
		}
		if want := judge(text); lines.Text() != want {
			differ = append(differ, fmt.Sprintf("'%s': ours '%s', Kubernetes' '%s'", text, lines.Text(), want))
		}
	}
	return differ, nil
}

// judge is the line that the program must answer.
func judge(text string) string {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return "refused"
	}
	canonical := q.String()
	if len(canonical) > textMost {
		return "long"
	}
	return canonical + units(q, 9) + units(q, 3) + units(q, 0)
}

// units is the value in 10^-digits, rounded away from zero.
func units(q resource.Quantity, digits int) string {
	d := q.AsDec()
	n := new(big.Int).Set(d.UnscaledBig())
	shift := digits - int(d.Scale())
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		n.Mul(n, ten)
	} else {
		rest := new(big.Int)
		n.QuoRem(n, ten, rest)
		n.Add(n, big.NewInt(int64(rest.Sign())))
	}
	if !n.IsInt64() {
		return " -"
	}
	return " " + n.String()
}

// randomText is mostly a quantity, sometimes nearly one, seldom anything.
func randomText(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.Intn(len(all))] }
	digits := func(most int) string {
		var b strings.Builder
		for range r.Intn(most + 1) {
			b.WriteByte("0123456789000"[r.Intn(13)])
		}
		return b.String()
	}
	number := pick("", "", "", "-", "+") + digits(20) + pick("", "", ".") + digits(12)
	suffix := pick("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		fmt.Sprintf("%s%s%d", pick("e", "E"), pick("", "+", "-"), r.Intn(40)))
	text := number + suffix
	if r.Intn(10) == 0 && text != "" { // one byte changed
		at := r.Intn(len(text))
		text = text[:at] + string("0.eEiKm-+ x_"[r.Intn(12)]) + text[at+1:]
	}
	if r.Intn(50) == 0 {
		text = pick("", " ") + text + pick("", " ", "i", "K", "ki", "0x")
	}
	return text
}

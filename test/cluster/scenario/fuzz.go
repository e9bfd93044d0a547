package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
)

// Whatever is asked by the description that the server itself gives is answered as it says there, and never by a failure:
// anything at all, then anything about a workload that is there.
func fuzzAPI(t *stage.T) {
	bin, err := programs.Python(filepath.Join(t.Root, "test", "cluster"), os.Stderr)
	if err != nil {
		t.Notef("SKIPPED: there is no schemathesis, and it cannot be installed: %v", err)
		return
	}
	t.Namespace()
	t.Profile(stage.QuickProfile("OnDeploy"))
	t.Apply(t.NewDeployment("web", 1, stage.App()))
	t.Account("ci")
	t.Ctl("create", "clusterrolebinding", t.NS, "--clusterrole=view", "--serviceaccount="+t.NS+":ci")
	defer func() { _, _ = t.Kubectl.Run("", "delete", "clusterrolebinding", t.NS) }()
	token := t.Token("ci")
	t.RecIn("deployment-web", "Ready", stage.Soon)
	address, err := t.Learner.RESTAddress()
	t.Check(err)
	description, err := t.Ask(t.Learner, "", "GET", "/openapi.yaml", "")
	t.Check(err)
	dir := filepath.Join(t.Dir, "fuzz-api")
	t.Check(os.MkdirAll(dir, 0o755))
	file, known := filepath.Join(dir, "openapi.yaml"), filepath.Join(dir, "known.toml")
	examples := strings.ReplaceAll(description.Body, "example: shop\n", "example: "+t.NS+"\n")
	t.Check(os.WriteFile(file, []byte(examples), 0o644))
	t.Check(os.WriteFile(known, fmt.Appendf(nil, "[parameters]\nns = %q\nkind = \"deploy\"\nname = \"web\"\n", t.NS), 0o644))
	about := []string{"run", file, "--url=https://" + address, "--tls-verify=false", "--header=Authorization: Bearer " + token,
		"--max-time=30", "--seed=1", "--generation-database=none", "--continue-on-failure", "--warnings=off", "--no-color",
		"--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance," +
			"response_schema_conformance,unsupported_method,allow_header_conformance,ignored_auth"}
	fuzz(t, filepath.Join(bin, "schemathesis"), dir, append(about, "--phases=examples,coverage,fuzzing")...)
	fuzz(t, filepath.Join(bin, "schemathesis"), dir, append([]string{"--config-file=" + known}, append(about, "--phases=fuzzing")...)...)
}

var generated = regexp.MustCompile(`(?m)^ *(\d+ generated.*)$`)

// fuzz ends the scenario on a finding; what was sent is in the log.
func fuzz(t *stage.T, program, dir string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	log, logErr := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	t.Check(logErr)
	defer log.Close()
	_, _ = log.Write(out)
	if err != nil {
		t.Fatalf("schemathesis: %v\n%s\n(all of it is in %s)", err, short(string(out)), log.Name())
	}
	if found := generated.FindStringSubmatch(string(out)); found != nil {
		t.Notef("%s", found[1])
	}
}

// short is what a report says, without what is too long to read.
func short(report string) string {
	var lines []string
	for _, line := range strings.Split(report, "\n") {
		if strings.TrimSpace(line) != "" && len(lines) < 80 {
			lines = append(lines, line[:min(len(line), 300)])
		}
	}
	return strings.Join(lines, "\n")
}

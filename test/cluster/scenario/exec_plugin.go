package scenario

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"halflife.dev/cluster/stage"
)

// A plug-in that notes what it is told, and gives a token.
const plugIn = `#!/bin/sh
printf '%%s' "$KUBERNETES_EXEC_INFO" >"$TOLD"
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'
`

// clusterCase is what else a kubeconfig has of its cluster.
type clusterCase struct {
	name  string
	more  M
	works bool // the API server is reached
}

// A plug-in with provideClusterInfo gets the same of halflife as of kubectl, field by field.
func execPlugin(t *stage.T) {
	t.Namespace()
	t.Account("ci", stage.ReadRule("get", "list"))
	folder, err := os.MkdirTemp("", "exec-plugin")
	t.Check(err)
	defer os.RemoveAll(folder)
	t.Check(os.WriteFile(filepath.Join(folder, "plug-in"), []byte(fmt.Sprintf(plugIn, t.Token("ci"))), 0o700))
	ca, err := os.ReadFile(filepath.Join(t.Plane.Dir, "ca.crt"))
	t.Check(err)
	t.Check(os.WriteFile(filepath.Join(folder, "ca.crt"), ca, 0o600))
	data := base64.StdEncoding.EncodeToString(ca)
	config := M{"name": "client.authentication.k8s.io/exec", "extension": M{"audience": "a", "more": L{1, nil, M{"x": true}}}}
	other := M{"name": "example.com/other", "extension": M{"a": "b"}}
	for _, c := range []clusterCase{
		{"CA as data", M{"certificate-authority-data": data}, true},
		{"CA as file", M{"certificate-authority": "ca.crt"}, true},
		{"server's name", M{"certificate-authority": "ca.crt", "tls-server-name": "localhost"}, true},
		{"not verified", M{"insecure-skip-tls-verify": true}, true},
		{"false and empty", M{"certificate-authority": "ca.crt", "tls-server-name": "", "insecure-skip-tls-verify": false,
			"proxy-url": "", "disable-compression": false}, true},
		{"no compression", M{"certificate-authority": "ca.crt", "disable-compression": true}, true},
		{"extension", M{"certificate-authority": "ca.crt", "extensions": L{other, config}}, true},
		{"another extension", M{"certificate-authority": "ca.crt", "extensions": L{other}}, true},
		{"proxy", M{"certificate-authority": "ca.crt", "proxy-url": "http://me:secret@127.0.0.1:1"}, false},
	} {
		compareTold(t, folder, c)
	}
}

func compareTold(t *stage.T, folder string, c clusterCase) {
	cluster := M{"server": t.Plane.Server}
	for key, value := range c.more {
		cluster[key] = value
	}
	exec := M{"apiVersion": "client.authentication.k8s.io/v1", "command": "./plug-in", "interactiveMode": "IfAvailable",
		"provideClusterInfo": true}
	text, err := json.Marshal(M{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": L{M{"name": "c", "cluster": cluster}}, "users": L{M{"name": "u", "user": M{"exec": exec}}},
		"contexts": L{M{"name": "x", "context": M{"cluster": "c", "user": "u", "namespace": t.NS}}}})
	t.Check(err)
	path := filepath.Join(folder, "config")
	t.Check(os.WriteFile(path, text, 0o600))
	told := map[string]any{}
	for program, args := range map[string][]string{
		t.Kubectl.Path: {"get", "recommendations", "--kubeconfig", path},
		t.Binary():     {"get", "--kubeconfig", path},
	} {
		file := filepath.Join(folder, "told-"+filepath.Base(program))
		os.Remove(file)
		r := t.Execute(program, []string{"TOLD=" + file, "HOME=" + folder}, "", args...)
		if (r.Code == 0) != c.works || strings.Contains(r.Err+r.Out, "secret") {
			t.Fatalf("%s: %s: exit code %d: %s%s", c.name, filepath.Base(program), r.Code, r.Err, r.Out)
		}
		said, err := os.ReadFile(file)
		t.Check(err)
		var info any
		t.Check(json.Unmarshal(said, &info))
		told[program] = info
	}
	if !reflect.DeepEqual(told[t.Kubectl.Path], told[t.Binary()]) {
		t.Fatalf("%s: kubectl tells the plug-in\n%v\nand halflife\n%v", c.name, told[t.Kubectl.Path], told[t.Binary()])
	}
}

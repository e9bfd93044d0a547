// Package plane starts a Kubernetes control plane on loopback from the built programs, and stops it by process id. kwok
// plays the nodes, and the usage server of this module plays what a kubelet tells about its containers.
package plane

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/programs"
)

// Plane is one running control plane; all it writes is under Dir.
type Plane struct {
	EtcdURL                                                       string
	Dir                                                           string
	Set                                                           programs.Set
	Server                                                        string // the API server's address
	Kubeconfig                                                    string // the administrator's
	Etcd, APIServer, Controllers, Scheduler, Kwok, Usage, Metrics *Process

	mu          sync.Mutex
	ended       bool       // nothing is started any more
	beside      []*Process // controllers of others, started later
	detach      bool
	module      string
	metricsPort int
	nodes       int        // how many tell their usage
	bare        Bare       // what StartBare was told, or what the played nodes need
	authority   *authority // of all certificates
}

// Nodes is how many there are; each has room for whatever the scenarios run.
const Nodes = 3

// New is a control plane that lies in dir, of which nothing runs yet. One that stays (detach) outlives this program.
func New(dir string, set programs.Set, detach bool) *Plane {
	return &Plane{Dir: dir, Set: set, detach: detach}
}

// Start brings it up, ready to schedule pods and to tell their usage. module is the folder of go.mod, self the program that
// knows the verb "usage". On an error nothing is left running.
func (pl *Plane) Start(module, self string) (err error) {
	pl.module, pl.nodes, pl.bare = module, Nodes, Bare{Services: "10.96.0.0/16", Grace: time.Hour}
	defer func() {
		if err != nil {
			pl.Stop()
		}
	}()
	if err := pl.startControl(); err != nil {
		return err
	}
	port, err := FreePorts(2)
	if err != nil {
		return err
	}
	if err := pl.startNodes(self, port[0], port[1]); err != nil {
		return err
	}
	return pl.startMetrics()
}

// startControl starts all but what plays the nodes and what measures them.
func (pl *Plane) startControl() error {
	port, err := FreePorts(4)
	if err != nil {
		return err
	}
	pl.Server = fmt.Sprintf("https://127.0.0.1:%d", port[2])
	pl.Kubeconfig = filepath.Join(pl.Dir, "kubeconfig")
	pl.metricsPort = port[3]
	if err := pl.issueAll(); err != nil {
		return err
	}
	if err := pl.startAPI(port[0], port[1], port[2]); err != nil {
		return err
	}
	return pl.startControllers()
}

// start starts a process of the control plane, unless that has been stopped meanwhile. One that outlives this program is
// written down at once: whoever comes after a killed one ends it.
func (pl *Plane) start(p *Process, env ...string) error {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.ended {
		return fmt.Errorf("the control plane in '%s' was stopped before %s was started", pl.Dir, p.Name)
	}
	if err := p.Start(pl.detach, env...); err != nil || !pl.detach {
		return err
	}
	return pl.save()
}

// has takes note of a process before it is started.
func (pl *Plane) has(where **Process, p *Process) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	*where = p
}

// Stop ends every process of the control plane, the last started first, also while it starts.
func (pl *Plane) Stop() {
	pl.mu.Lock()
	pl.ended = true
	pl.mu.Unlock()
	for _, p := range pl.all() {
		p.Signal(15)
	}
	for _, p := range pl.all() {
		p.Stop()
	}
}

func (pl *Plane) all() []*Process {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.list()
}

// list is for who holds the lock.
func (pl *Plane) list() []*Process {
	list := append([]*Process(nil), pl.beside...)
	for _, p := range []*Process{pl.Metrics, pl.Kwok, pl.Usage, pl.Scheduler, pl.Controllers, pl.APIServer, pl.Etcd} {
		if p != nil {
			list = append(list, p)
		}
	}
	return list
}

// Client is the administrator's.
func (pl *Plane) Client() (*kube.Client, error) {
	return kube.New(pl.Server, pl.path("ca.crt"), pl.path("admin.crt"), pl.path("admin.key"))
}

// Kubectl is the administrator's too.
func (pl *Plane) Kubectl() kube.Tool {
	return kube.Tool{Path: pl.Set.Path("kubectl"), Kubeconfig: pl.Kubeconfig, Home: pl.Dir}
}

func (pl *Plane) path(name string) string { return filepath.Join(pl.Dir, name) }

// state is what `down` needs to end what `up` began.
type state struct {
	Processes []*Process
}

func (pl *Plane) save() error {
	return WriteState(pl.path("state.json"), state{pl.list()})
}

// WriteState writes the state of what outlives this program, whole or not at all.
func WriteState(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// StopSaved ends what an earlier run left running in dir, as its state tells, and says how many processes that were.
func StopSaved(dir string) (int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if os.IsNotExist(err) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("state of the control plane in '%s': %w", dir, err)
	}
	count := 0
	for _, p := range s.Processes {
		if p.Running() {
			p.Signal(15)
			count++
		}
	}
	for _, p := range s.Processes {
		p.Stop()
	}
	return count, os.Remove(filepath.Join(dir, "state.json"))
}

func (pl *Plane) issueAll() error {
	a, err := newAuthority(pl.Dir)
	if err != nil {
		return err
	}
	a.addresses = append(a.addresses, pl.bare.Addresses...)
	pl.authority = a
	for _, c := range []struct{ name, user, group string }{
		{"admin", "admin", "system:masters"},
		{"serving", "kubernetes", ""},
		{"proxy", "front-proxy-client", ""},
	} {
		if err := a.issue(c.name, c.user, c.group); err != nil {
			return err
		}
	}
	if err := a.issueServiceAccountKey(); err != nil {
		return err
	}
	ca, err := os.ReadFile(pl.path("ca.crt"))
	if err != nil {
		return err
	}
	user := map[string]any{"client-certificate": pl.path("admin.crt"), "client-key": pl.path("admin.key")}
	return WriteKubeconfig(pl.Kubeconfig, pl.Server, ca, user)
}

// WriteKubeconfig writes a kubeconfig of one context. JSON is YAML.
func WriteKubeconfig(path, server string, ca []byte, user map[string]any) error {
	type named map[string]any
	data, err := json.MarshalIndent(named{
		"apiVersion": "v1", "kind": "Config", "current-context": "halflife",
		"clusters": []named{{"name": "halflife", "cluster": named{
			"server": server, "certificate-authority-data": base64.StdEncoding.EncodeToString(ca)}}},
		"users":    []named{{"name": "halflife", "user": user}},
		"contexts": []named{{"name": "halflife", "context": named{"cluster": "halflife", "user": "halflife"}}},
	}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// KubeconfigFor writes the kubeconfig of a service account by its token.
func (pl *Plane) KubeconfigFor(path, token string) error {
	ca, err := os.ReadFile(pl.path("ca.crt"))
	if err != nil {
		return err
	}
	return WriteKubeconfig(path, pl.Server, ca, map[string]any{"token": token})
}

// patience is for how long a program that starts is waited for: a machine may have much else to do.
const patience = 5 * time.Minute

// ready asks until the answer is yes; a process that ended meanwhile is an error that tells the end of its log.
func ready(p *Process, limit time.Duration, ask func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if !p.Running() {
			return fmt.Errorf("%s ended:\n%s", p.Name, p.Tail(2000))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %s: %w\n%s", p.Name, limit, err, p.Tail(2000))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

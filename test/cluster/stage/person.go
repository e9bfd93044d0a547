package stage

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/plane"
)

// Person is somebody with a kubeconfig, and perhaps a token for halflife, who uses kubectl and its plug-in halflife.
type Person struct {
	t          *T
	Name       string
	Kubeconfig string
	Token      string // for halflife; "": none
	Home       string // it has what the person's programs keep
}

// NewPerson makes a person of a kubeconfig.
func (t *T) NewPerson(name, kubeconfig, token string) *Person {
	p := &Person{t: t, Name: name, Kubeconfig: kubeconfig, Token: token, Home: filepath.Join(t.Dir, t.NS+"-"+name)}
	for _, folder := range []string{"bin", "home", "run"} {
		t.Check(os.MkdirAll(filepath.Join(p.Home, folder), 0o755))
	}
	t.Check(os.Symlink(t.Binary(), filepath.Join(p.Home, "bin", "kubectl-halflife")))
	return p
}

// PersonOf makes a person of an Account. Both API server and halflife get the account's token.
func (t *T) PersonOf(account string) *Person {
	token, kubeconfig := t.Token(account, "--duration=2h"), filepath.Join(t.Dir, t.NS+"-"+account+".kubeconfig")
	t.Check(t.Plane.KubeconfigFor(kubeconfig, token))
	return t.NewPerson(account, kubeconfig, token)
}

// Kubectl runs kubectl as that person.
func (p *Person) Kubectl(args ...string) (string, error) {
	tool := p.t.Kubectl
	tool.Kubeconfig = p.Kubeconfig
	return tool.Run("", args...)
}

func (p *Person) env(more ...string) []string {
	env := append([]string{"KUBECONFIG=" + p.Kubeconfig, "HOME=" + filepath.Join(p.Home, "home"), "XDG_RUNTIME_DIR=" + p.runtime(),
		"TMPDIR=" + p.runtime(), "PATH=" + filepath.Join(p.Home, "bin") + ":" + os.Getenv("PATH"), "HALFLIFE_TOKEN=" + p.Token,
		"LC_ALL=C.UTF-8"}, more...)
	return env
}

func (p *Person) runtime() string { return filepath.Join(p.Home, "run") }

// Left returns the files that the person's programs have left behind, but for the cache of kubectl.
func (p *Person) Left() []string {
	var files []string
	for _, folder := range []string{"run", "home"} {
		_ = filepath.WalkDir(filepath.Join(p.Home, folder), func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !strings.Contains(path, "/.kube/") {
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

// Page is a running `kubectl halflife ui`.
type Page struct {
	*plane.Process
	t      *T
	URL    string // of the page: "http://127.0.0.1:41234/…/ui"
	Browse string // the file that a browser was given; "": none was opened
	client *http.Client
}

// OpenPage runs `kubectl halflife ui` with a browser that only notes what it is given, and waits until it serves.
func (p *Person) OpenPage(args ...string) *Page {
	t := p.t
	browser, given := filepath.Join(p.Home, "bin", "browser"), filepath.Join(p.Home, "given")
	t.Check(os.WriteFile(browser, fmt.Appendf(nil, "#!/bin/sh\nprintf %%s \"$1\" >%s.part && mv %s.part %s\n", given, given, given), 0o755))
	_ = os.Remove(given)
	page := &Page{t: t, client: &http.Client{Timeout: Soon, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	page.Process = &plane.Process{Name: "kubectl halflife ui", Path: t.Kubectl.Path, Args: append([]string{"halflife", "ui"}, args...),
		Log: filepath.Join(p.Home, fmt.Sprintf("log-%d", count.Add(1)))}
	t.Check(page.Start(false, p.env("BROWSER="+browser)...))
	t.Eventually("the page of "+p.Name+" is served", Soon, func() error {
		if !page.Running() {
			t.Fatalf("kubectl halflife ui ended:\n%s", page.Tail(3000))
		}
		if !slices.Contains(args, "--no-browser") {
			file, err := os.ReadFile(given)
			if err != nil {
				return fmt.Errorf("no browser is opened: %s", page.Tail(3000))
			}
			page.Browse = string(file)
		}
		for _, line := range strings.Split(page.Tail(3000), "\n") {
			if strings.HasPrefix(line, "http://") {
				page.URL, _, _ = strings.Cut(line, "#")
			}
		}
		_, err := page.Ask("GET", "/ui")
		return err
	})
	return page
}

// Root is the address up to the random part of the path, and that part with it: "http://127.0.0.1:41234/…".
func (p *Page) Root() string { return strings.TrimSuffix(p.URL, "/ui") }

// Ask sends one request to the page; path is what follows the random part. headers are name, value, ….
func (p *Page) Ask(method, path string, headers ...string) (Answer, error) {
	return p.AskAt(method, p.Root()+path, headers...)
}

// AskAt is Ask with a whole address.
func (p *Page) AskAt(method, url string, headers ...string) (Answer, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return Answer{}, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return Answer{res.StatusCode, res.Header, string(data)}, err
}

// Get asks for a path below /api/v1/. A request that fails as such ends the scenario.
func (p *Page) Get(path string) Answer {
	answer, err := p.Ask("GET", "/api/v1/"+path)
	p.t.Check(err)
	return answer
}

// MustGet returns the object at a path below /api/v1/.
func (p *Page) MustGet(path string) kube.Object {
	answer := p.Get(path)
	if answer.Code != 200 {
		p.t.Fatalf("the page's %s: HTTP %d: %s", path, answer.Code, answer.Body)
	}
	return answer.Object()
}

// Interrupt ends the page as Ctrl-C does, and returns its exit code.
func (p *Page) Interrupt() int {
	p.Signal(2)
	code, err := p.Wait(Scaled(30 * time.Second))
	p.t.Check(err)
	return code
}

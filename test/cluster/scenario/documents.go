package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/stage"
)

// lacking gives the shell what this control plane lacks: a registry, a kustomize, pods that run, a helm, an image, the
// files of a release, and the name of the Service in DNS. A wait for pods is a wait for their permissions instead.
const lacking = `set -euo pipefail
docker() { :; }
make() { case $1 in image | install) ;; *) command make "$@" ;; esac }
skopeo() { :; }
sha256sum() { :; }
tar() { :; }
sudo() { :; }
kustomize() { grep -q '^images:' kustomization.yaml || echo 'images: [{name: halflife, newName: REGISTRY/halflife, newTag: TAG}]' >>kustomization.yaml; }
helm() { cat deploy/web.yaml; }
curl() { command curl --fail-with-body -sS --connect-to "halflife.halflife.svc:443:$REST" "$@"; }
kubectl() {
        case $1 in
        rollout) until [ "$(command kubectl auth can-i patch deployments.apps -A --as="$LEARNER")" = yes ]; do :; done ;;
        krew) ;;
        exec) shift 5; KUBECONFIG=$OF_LEARNER HALFLIFE_DATABASE=$DATABASE HALFLIFE_NAMESPACE=halflife "$@" ;;
        *) command kubectl "$@" ;;
        esac
}
`

// documentBlocks returns the blocks of a page that are marked sh.
func documentBlocks(t *stage.T, page string) []string {
	text, err := os.ReadFile(filepath.Join(t.Root, page))
	t.Check(err)
	var blocks []string
	for _, part := range strings.Split(string(text), "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block marked sh", page)
	}
	return blocks
}

// typist types the blocks of pages in a folder that has what they name.
type typist struct {
	t      *stage.T
	folder string
	env    []string
}

func newTypist(t *stage.T, h *stage.Halflife) *typist {
	folder := filepath.Join(t.Dir, "documents")
	t.Check(os.MkdirAll(filepath.Join(folder, "deploy"), 0o755))
	for _, name := range []string{"manifests", "crds"} {
		t.Check(os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(t.Root, name))))
	}
	web := kube.Object(t.NewDeployment("web", 2, stage.App())).String()
	for _, name := range []string{"web.yaml", "deploy/web.yaml"} {
		t.Check(os.WriteFile(filepath.Join(folder, name), []byte(web), 0o644))
	}
	address, err := h.RESTAddress()
	t.Check(err)
	path := filepath.Dir(t.Binary()) + ":" + filepath.Dir(t.Kubectl.Path) + ":" + os.Getenv("PATH")
	return &typist{t, folder, []string{"PATH=" + path, "KUBECONFIG=" + t.Plane.Kubeconfig, "HOME=" + t.Kubectl.Home, "REST=" + address,
		"LEARNER=" + stage.LearnerUser, "OF_LEARNER=" + h.Kubeconfig, "DATABASE=" + filepath.Join(h.Dir, "halflife.db")}}
}

// types runs each block of the page and returns what all of them printed.
func (y *typist) types(page string) string {
	var all strings.Builder
	for _, block := range documentBlocks(y.t, page) {
		// The program asks for no name but through DNS: the scenario "render" asks a halflife that runs.
		script := lacking + strings.ReplaceAll(block, " --server https://halflife.halflife.svc", "")
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir, cmd.Env = y.folder, append(os.Environ(), y.env...)
		said, err := cmd.CombinedOutput()
		if err != nil {
			y.t.Fatalf("%s: this block ends with %v:\n%s\n%s", page, err, block, said)
		}
		all.Write(said)
		if strings.Contains(block, "kubectl apply -k") {
			y.checkInstalled(page)
		}
	}
	return all.String()
}

// Whichever folder a page applies, what it installs is the image that was pushed. A person reads on after a minute.
func (y *typist) checkInstalled(page string) {
	o, err := y.t.Get("/apis/apps/v1/namespaces/" + stage.OwnNamespace + "/deployments/halflife")
	y.t.Check(err)
	if image := o.List("spec", "template", "spec", "containers")[0].Text("image"); image != "REGISTRY/halflife:TAG" {
		y.t.Fatalf("%s: the image is '%s'", page, image)
	}
	y.t.RecWhen("deployment-web", "it is published", stage.Soon, func(kube.Object) error { return nil })
}

// documents types the blocks of the pages for beginners in the order in which they are read, and then those that install
// and remove halflife. What the pages promise comes true.
func documents(t *stage.T) {
	t.Ctl("create", "namespace", "shop")
	t.NS = "shop"
	deployment := t.NewDeployment("web", 2, stage.App())
	deployment["metadata"].(M)["labels"] = M{"app": "web", "team": "a"}
	t.Apply(deployment)
	before := specOf(t, "deployments", "web")
	t.Check(t.StartRotate())
	h := t.StartOwn("--serve-listen=127.0.0.1:0", "--webhook-certificate=self", "--apply=allow")
	y := newTypist(t, h)

	t.WaitMeasured("web") // whoever looks at his cluster first has had it for longer than 15 s
	y.types("README.md")
	t.RecWhen("deployment-web", "it tells what it would request", stage.Soon, func(r kube.Object) error {
		if r.Text("status", "soFar", "cpu") == "" {
			return fmt.Errorf("its status is %s", r.Text("status"))
		}
		return nil
	})
	t.Ctl("delete", "profile", "look-only", "-n", "shop") // as the guide says

	t.CheckSays(y.types("docs/rollout-guide.md"), "permissions granted", "clusterprofile.halflife.dev/shared-pool patched")
	_, err := t.Merge(stage.APIPath+"/clusterprofiles/shared-pool", M{"spec": M{"apply": M{"minHistory": "0s", "maxDecreasePercent": 100}}})
	t.Check(err)
	cpu, _ := stage.Targets()
	t.Eventually("the guide lowers it", stage.Soon, func() error { return t.PodsAsk("web", "app", "cpu", cpu, 2) })
	t.CheckSays(y.types("docs/rest.md"), `"target":"`+cpu+`"`)
	y.env = append(y.env, "TOKEN="+t.Token("ci"), "CURL_CA_BUNDLE="+filepath.Join(y.folder, "ca.crt"))
	t.CheckSays(y.types("docs/pipelines.md"), "deployment.apps/web ", "original-resources")

	t.CheckSays(y.types("docs/restore.md"), "deployment/web restored: app cpu "+cpu+" -> 2")
	if now := specOf(t, "deployments", "web"); now != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, now)
	}
	h.Stop()
	t.Learner = nil
	t.CheckSays(y.types("docs/install.md"), "customresourcedefinition.apiextensions.k8s.io \"recommendations.halflife.dev\" deleted")
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"halflife.dev/cluster/kube"
	"halflife.dev/cluster/programs"
	"halflife.dev/cluster/stage"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// asApplied has the chart do what kustomize does as well: the namespace is an object, and CRDs go with the rest.
const asApplied = "namespace.create=true,crds.keep=false"

// Each overlay is some values; the last row's folder is made here.
var overlays = []struct{ folder, values string }{
	{"manifests", ""},
	{"manifests/overlays/admission", "admission.enabled=true"},
	{"manifests/overlays/in-place", "admission.enabled=true,inPlace.enabled=true"},
	{"manifests/overlays/read-only", "readOnly.enabled=true"},
	{"manifests/overlays/retune", "retune.enabled=true"},
	{"manifests/overlays/monitoring", "serviceMonitor.enabled=true,alerts.enabled=true"},
	{"manifests/overlays/grafana", "grafana.dashboards.enabled=true"},
	{"manifests/overlays/custom-metrics", "customMetrics.enabled=true"},
	{"manifests/overlays/load-watcher", "loadWatcher.enabled=true"},
	{"manifests/overlays/any-user", "admission.enabled=true,anyUser.enabled=true"},
	{"manifests/overlays/prometheus", "controller.settings.prometheus-url=http://prometheus.monitoring:9090"},
	{everything, "anyUser.enabled=true,admission.enabled=true,inPlace.enabled=true,readOnly.enabled=true,retune.enabled=true," +
		"serviceMonitor.enabled=true,alerts.enabled=true,grafana.dashboards.enabled=true,customMetrics.enabled=true,loadWatcher.enabled=true," +
		"controller.settings.prometheus-url=http://prometheus.monitoring:9090"},
}

const (
	everything         = "build/cluster/chart/everything"
	everythingTogether = `resources: [../../../../manifests/base]
components: [../../../../manifests/components/admission, ../../../../manifests/components/custom-metrics,
  ../../../../manifests/components/grafana, ../../../../manifests/components/in-place, ../../../../manifests/components/load-watcher,
  ../../../../manifests/components/monitoring, ../../../../manifests/components/retune,
  ../../../../manifests/components/read-only, ../../../../manifests/components/any-user,
  ../../../../manifests/components/prometheus]
`
)

// What a value does. An empty want: the object, or what the path leads to, is not there.
var effects = []struct {
	values, object string
	path           []string
	want           string
}{
	{"image.repository=r.test/h,image.tag=v1", "Deployment/halflife", container("image"), "r.test/h:v1"},
	{"image.digest=" + digest, "Deployment/halflife", container("image"), "halflife@" + digest},
	{"image.tag=v1,image.digest=" + digest, "Deployment/halflife", container("image"), "halflife:v1@" + digest},
	{"global.imageRegistry=m.test:5000/hub,image.tag=v1", "Deployment/halflife", container("image"), "m.test:5000/hub/halflife:v1"},
	{"global.imageRegistry=m.test,image.repository=r.test/team/h,image.tag=v1", "Deployment/halflife", container("image"), "m.test/team/h:v1"},
	{"global.imageRegistry=m.test,image.repository=r:80/h,image.tag=v1", "Pod/halflife-check", []string{"spec", "containers", "0", "image"}, "m.test/h:v1"},
	{"global.imageRegistry=m.test,image.repository=localhost/h,image.tag=v1", "Deployment/halflife-rotate", container("image"), "m.test/h:v1"},
	{"global.imageRegistry=m.test,image.repository=team/h,image.digest=" + digest, "Deployment/halflife", container("image"), "m.test/team/h@" + digest},
	{"image.pullPolicy=Always", "Deployment/halflife", container("imagePullPolicy"), "Always"},
	{"image.pullSecrets={a,b}", "Deployment/halflife", pod("imagePullSecrets"), `[{"name":"a"},{"name":"b"}]`},
	{"controller.settings.api-rate=10000", "Deployment/halflife", container("args", "9"), "--api-rate=10000"},
	{"controller.settings.budget-cores-per-hour=1000000", "Deployment/halflife", container("args", "9"), "--budget-cores-per-hour=1000000"},
	{"controller.settings.webhook-certificate=secret", "Deployment/halflife", container("args"),
		`["run","--database","/var/lib/halflife/halflife.db","--listen",":8080","--serve-listen",":8443","--webhook-certificate=secret"]`},
	{"readOnly.enabled=true,controller.settings.apply=allow", "Deployment/halflife", container("args", "9"), "--apply=allow"},
	{"", "Deployment/halflife", []string{"spec", "replicas"}, "1"},
	{"controller.replicas=0", "Deployment/halflife", []string{"spec", "replicas"}, "0"},
	{"controller.nodeSelector.disk=ssd", "Deployment/halflife", pod("nodeSelector"), `{"disk":"ssd","kubernetes.io/os":"linux"}`},
	{"controller.priorityClassName=high", "Deployment/halflife", pod("priorityClassName"), "high"},
	{"controller.resources.limits.memory=1Gi", "Deployment/halflife", container("resources"), `{"limits":{"memory":"1Gi"}}`},
	{"controller.podLabels.team=a", "Deployment/halflife", []string{"spec", "template", "metadata", "labels", "team"}, "a"},
	{"controller.podLabels.app\\.kubernetes\\.io/name=a", "Deployment/halflife",
		[]string{"spec", "template", "metadata", "labels", "app.kubernetes.io/name"}, "halflife"},
	{"controller.extraVolumes[0].name=v,controller.extraVolumeMounts[0].name=v", "Deployment/halflife", container("volumeMounts", "1", "name"), "v"},
	{"controller.extraVolumes[0].name=v,controller.extraVolumeMounts[0].name=v", "Pod/halflife-check", []string{"spec", "volumes"}, `[{"name":"v"}]`},
	{"controller.settings.prometheus-url=http://p", "Pod/halflife-check", []string{"spec", "containers", "0", "args"},
		`["check","--database=","--webhook-certificate=self","--prometheus-url=http://p"]`},
	{proxy("controller"), "Deployment/halflife", container("env"), proxied},
	{proxy("controller"), "Pod/halflife-check", []string{"spec", "containers", "0", "env"}, proxied},
	{proxy("rotate"), "Deployment/halflife-rotate", container("env"), proxied},
	{proxy("rotate"), "Deployment/halflife", container("env"), ""},
	{"admission.enabled=true," + proxy("admission"), "Deployment/halflife-serve", container("env"), proxied},
	{"controller.env[0].name=P,controller.env[0].valueFrom.secretKeyRef.key=k", "Deployment/halflife", container("env"),
		`[{"name":"P","valueFrom":{"secretKeyRef":{"key":"k"}}}]`},
	{"rotate.settings.webhook-certificate=secret", "Deployment/halflife-rotate", container("args"),
		`["rotate","--listen",":8080","--webhook-certificate=secret"]`},
	{"admission.enabled=true,admission.port=9443", "Deployment/halflife-serve", container("ports"),
		`[{"containerPort":8080,"name":"http"},{"containerPort":9443,"name":"https"}]`},
	{"admission.enabled=true,admission.port=9443", "Deployment/halflife-serve", container("args"),
		`["serve","--listen",":8080","--webhook-certificate","self","--serve-listen=:9443"]`},
	{"anyUser.enabled=true", "Deployment/halflife", pod("securityContext"),
		`{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`},
	{"controller.serviceAccountAnnotations.role=r", "ServiceAccount/halflife", []string{"metadata", "annotations", "role"}, "r"},
	{"admission.enabled=true,admission.replicas=5", "Deployment/halflife-serve", []string{"spec", "replicas"}, "5"},
	{"admission.enabled=true,admission.settings.log-format=json", "Deployment/halflife-serve", container("args", "7"), "--log-format=json"},
	{"admission.enabled=true,admission.excludedNamespaces={ci}", "MutatingWebhookConfiguration/halflife", selected,
		`["kube-system","kube-public","kube-node-lease","halflife","ci"]`},
	{"admission.enabled=true,namespaceOverride=own", "MutatingWebhookConfiguration/halflife", selected,
		`["kube-system","kube-public","kube-node-lease","own"]`},
	{"admission.enabled=true,namespaceOverride=own", "MutatingWebhookConfiguration/halflife",
		[]string{"webhooks", "1", "clientConfig", "service", "namespace"}, "own"},
	{"admission.enabled=true,exemptNamespaces={ci},admission.excludedNamespaces={bank}", "MutatingWebhookConfiguration/halflife", selected,
		`["ci","halflife","bank"]`},
	{"exemptNamespaces={ci,bank}", "ValidatingAdmissionPolicy/halflife", exempted, `["ci","bank","halflife"]`},
	{"exemptNamespaces={ci,bank}", "Deployment/halflife", container("args", "9"), "--exempt-namespaces=ci,bank"},
	{"exemptNamespaces={ci},admission.enabled=true", "Deployment/halflife-serve", container("args", "7"), "--exempt-namespaces=ci"},
	{"namespaceOverride=own", "ValidatingAdmissionPolicy/halflife", exempted, `["kube-system","kube-public","kube-node-lease","own"]`},
	{"namespaceOverride=own", "ValidatingAdmissionPolicy/halflife", []string{"spec", "matchConditions", "0", "expression"},
		`request.userInfo.username.startsWith("system:serviceaccount:own:halflife")`},
	{games, "ValidatingAdmissionPolicy/halflife", []string{"spec", "matchConstraints", "resourceRules", "7"},
		`{"apiGroups":["example.com"],"apiVersions":["*"],"operations":["CREATE","UPDATE","DELETE"],"resources":["games"],"scope":"Namespaced"}`},
	{"namespaceOverride=own", "ClusterRoleBinding/halflife-controller", []string{"subjects", "0", "namespace"}, "own"},
	{"namespaceOverride=own", "Deployment/halflife", []string{"metadata", "namespace"}, "own"},
	{"namespaceOverride=own,namespace.create=true", "Namespace/own", []string{"metadata", "labels", "pod-security.kubernetes.io/enforce"}, "restricted"},
	{"customMetrics.enabled=true,namespaceOverride=own", "Role/halflife-front-proxy", []string{"metadata", "namespace"}, "kube-system"},
	{"commonLabels.team=a,commonAnnotations.owner=b", "Service/halflife", []string{"metadata", "labels", "team"}, "a"},
	{"commonLabels.team=a,commonAnnotations.owner=b", "ClusterRole/halflife-view", []string{"metadata", "annotations", "owner"}, "b"},
	{"", "CustomResourceDefinition/profiles.halflife.dev", []string{"metadata", "annotations", "helm.sh/resource-policy"}, "keep"},
	{"crds.install=false", "CustomResourceDefinition/profiles.halflife.dev", nil, ""},
	{"", "Namespace/halflife", nil, ""},
	{"", "NetworkPolicy/halflife", egress, usualEgress + "]"},
	{"networkPolicy.egressPorts={80,3128}", "NetworkPolicy/halflife", egress, usualEgress + `,{"port":80},{"port":3128}]`},
	{"controller.settings.prometheus-url=http://p.test:9091/x,networkPolicy.egressPorts={80,9091}", "NetworkPolicy/halflife", egress,
		usualEgress + `,{"port":9091},{"port":80}]`},
	{"controller.settings.prometheus-url=http://p.test", "NetworkPolicy/halflife", egress, usualEgress + `,{"port":80}]`},
	{"controller.settings.prometheus-url=https://p.test/x", "NetworkPolicy/halflife", egress, usualEgress + "]"},
	{"controller.settings.prometheus-url=https://[2001:db8::1]:9443", "NetworkPolicy/halflife", egress, usualEgress + `,{"port":9443}]`},
	{"admission.enabled=true,namespaceOverride=own", "MutatingWebhookConfiguration/halflife",
		[]string{"webhooks", "1", "matchConditions", "0", "expression"},
		`!request.userInfo.username.startsWith("system:serviceaccount:own:halflife")`},
	{"networkPolicy.enabled=false", "NetworkPolicy/halflife", nil, ""},
	{"persistence.size=5Gi,persistence.storageClass=fast", "PersistentVolumeClaim/halflife", []string{"spec"},
		`{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}},"storageClassName":"fast"}`},
	{"persistence.existingClaim=mine", "PersistentVolumeClaim/halflife", nil, ""},
	{"persistence.existingClaim=mine", "Deployment/halflife", pod("volumes"), `[{"name":"data","persistentVolumeClaim":{"claimName":"mine"}}]`},
	{"persistence.enabled=false", "PersistentVolumeClaim/halflife", nil, ""},
	{"persistence.enabled=false", "Deployment/halflife", pod("volumes"), `[{"emptyDir":{},"name":"data"}]`},
	{"serviceMonitor.enabled=true,serviceMonitor.labels.release=p,serviceMonitor.interval=1m", "ServiceMonitor/halflife",
		[]string{"metadata", "labels", "release"}, "p"},
	{"serviceMonitor.enabled=true,serviceMonitor.interval=1m", "ServiceMonitor/halflife", []string{"spec", "endpoints", "0", "interval"}, "1m"},
	{"serviceMonitor.enabled=true", "PrometheusRule/halflife", nil, ""},
	{"alerts.enabled=true,alerts.labels.release=p", "PrometheusRule/halflife", []string{"metadata", "labels", "release"}, "p"},
	{"grafana.dashboards.enabled=true,grafana.dashboards.namespace=grafana,namespaceOverride=own", "ConfigMap/halflife-dashboards",
		[]string{"metadata", "namespace"}, "grafana"},
	{"grafana.dashboards.enabled=true,namespaceOverride=own", "ConfigMap/halflife-dashboards", []string{"metadata", "namespace"}, "own"},
	{"grafana.dashboards.enabled=true,grafana.dashboards.labels.grafana_dashboard=yes", "ConfigMap/halflife-dashboards",
		[]string{"metadata", "labels", "grafana_dashboard"}, "yes"},
	{"grafana.dashboards.enabled=true,grafana.dashboards.annotations.grafana_folder=Platform", "ConfigMap/halflife-dashboards",
		[]string{"metadata", "annotations"}, `{"grafana_folder":"Platform"}`},
	{"", "ConfigMap/halflife-dashboards", nil, ""},
	{games, "ClusterRole/halflife-controller-extra", []string{"rules"},
		`[{"apiGroups":["example.com"],"resources":["games"],"verbs":["get","list","watch","patch"]}]`},
	{games + ",readOnly.enabled=true", "ClusterRole/halflife-controller-extra", []string{"rules", "0", "verbs"}, `["get","list","watch"]`},
	{games + ",admission.enabled=true", "MutatingWebhookConfiguration/halflife", []string{"webhooks", "1", "rules", "4"},
		`{"apiGroups":["example.com"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["games"],"scope":"Namespaced"}`},
}

// Values that the schema refuses, and where.
var refusals = []struct{ values, says string }{
	{"contoller.replicas=2", "at '': additional properties 'contoller' not allowed"},
	{"controller.resorces.limits=1", "at '/controller': additional properties 'resorces' not allowed"},
	{"controller.settings.intervall=5s", "at '/controller/settings': additional properties 'intervall' not allowed"},
	{"controller.settings.interval=5", "at '/controller/settings/interval'"},
	{"controller.settings.database=x", "at '/controller/settings': additional properties 'database' not allowed"},
	{"admission.settings.retention=1h", "at '/admission/settings': additional properties 'retention' not allowed"},
	{"rotate.settings.apply=never", "at '/rotate/settings': additional properties 'apply' not allowed"},
	{"controller.settings.api-rate=0", "at '/controller/settings/api-rate': minimum: got 0, want 1"},
	{"controller.settings.log-format=xml", "at '/controller/settings/log-format'"},
	{"image.digest=sha256:1", "at '/image/digest'"},
	{"admission.port=443", "at '/admission/port': minimum: got 443, want 1,024"},
	{"controller.env[0].name=P,controller.env[0].value=1", "at '/controller/env/0/value': got number, want string"},
	{"controller.env[0].value=x", "at '/controller/env/0': missing property 'name'"},
	{"controller.env.HTTPS_PROXY=x", "at '/controller/env': got object, want array"},
	{"global.imageRegistry=https://m.test", "at '/global/imageRegistry'"},
	{"controller.replicas=2", "controller.replicas is 2, but the controller keeps what it learns in an SQLite database, which one process owns: set it to 1"},
	{"exemptNamespaces={Ci}", "at '/exemptNamespaces/0'"},
	{"grafana.dashboards.folder=Platform", "at '/grafana/dashboards': additional properties 'folder' not allowed"},
	{"grafana.dashboards.namespace=Grafana", "at '/grafana/dashboards/namespace'"},
	{"extraKinds[0].group=example.com", "at '/extraKinds/0': additional properties 'group' not allowed"},
}

const (
	digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	games  = "extraKinds[0].apiGroup=example.com,extraKinds[0].resources={games}"
)

var selected = []string{"webhooks", "0", "namespaceSelector", "matchExpressions", "0", "values"}

// egress is where the policy has the ports that halflife calls; usualEgress is the beginning of what stands there.
var egress = []string{"spec", "egress", "0", "ports"}

const usualEgress = `[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"},{"port":443},{"port":6443},{"port":8443},{"port":16443}`

var exempted = []string{"spec", "variables", "0", "expression"}

// proxied is the environment that proxy gives a component.
const proxied = `[{"name":"HTTPS_PROXY","value":"http://proxy.test:3128"},{"name":"NO_PROXY","value":".svc,10.96.0.0/12"}]`

func proxy(component string) string {
	return fmt.Sprintf(`%[1]s.env[0].name=HTTPS_PROXY,%[1]s.env[0].value=http://proxy.test:3128,%[1]s.env[1].name=NO_PROXY,`+
		`%[1]s.env[1].value=.svc\,10.96.0.0/12`, component)
}

func pod(path ...string) []string       { return append([]string{"spec", "template", "spec"}, path...) }
func container(path ...string) []string { return append(pod("containers", "0"), path...) }

// buildHelm gives the folder of helm.
func buildHelm() (programs.Set, error) {
	return programs.Build(stage.HelmModule(root()), programs.Helm, os.Stderr)
}

// chartTools are the programs that render, without a cluster.
type chartTools struct{ helm, kubectl kube.Tool }

// chart checks that the chart gives what the manifests give, does what values say, and refuses what it does not know.
func chart() error {
	set, err := programs.Build(module(), programs.ControlPlane, os.Stderr)
	if err != nil {
		return err
	}
	own, err := buildHelm()
	if err != nil {
		return err
	}
	home := filepath.Join(root(), "build", "cluster", "chart")
	if err := os.MkdirAll(filepath.Join(root(), everything), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root(), everything, "kustomization.yaml"), []byte(everythingTogether), 0o644); err != nil {
		return err
	}
	t := chartTools{kube.Tool{Path: own.Path("helm"), Home: home}, kube.Tool{Path: set.Path("kubectl"), Home: home}}
	if out, err := t.helm.Run("", "lint", "--strict", stage.Chart(root())); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if err := errors.Join(checkFolders(), t.checkOverlays(), t.checkEffects(), t.checkRefusals(), t.checkPackage()); err != nil {
		return err
	}
	fmt.Printf("the chart is what %d kustomizations are, %d values do what they say, %d are refused\n", len(overlays), len(effects),
		len(refusals))
	return nil
}

// template gives the chart's objects by "Kind/name".
func (t chartTools) template(values string, options ...string) (map[string]kube.Object, error) {
	return t.templateOf(stage.Chart(root()), values, options...)
}

// templateOf is template of a chart at another place.
func (t chartTools) templateOf(chart, values string, options ...string) (map[string]kube.Object, error) {
	args := append([]string{"template", "halflife", chart, "-n", stage.OwnNamespace, "--set", values}, options...)
	out, err := t.helm.Run("", args...)
	if err != nil {
		return nil, err
	}
	return objectsOf(out)
}

func objectsOf(text string) (map[string]kube.Object, error) {
	all := map[string]kube.Object{}
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var o kube.Object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if o == nil { // nothing between two lines of dashes
			continue
		}
		name := o.Text("kind") + "/" + o.Name()
		if all[name] != nil {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		all[name] = o
	}
}

// checkFolders looks whether each overlay and each component is in the tables above.
func checkFolders() error {
	rows := everythingTogether
	for _, row := range overlays {
		rows += row.folder + ","
	}
	var failed []error
	for _, kind := range []string{"overlays", "components"} {
		folders, err := os.ReadDir(filepath.Join(root(), "manifests", kind))
		if err != nil {
			return err
		}
		for _, f := range folders {
			if name := "manifests/" + kind + "/" + f.Name(); !strings.Contains(rows, name+",") && !strings.Contains(rows, name+"]") {
				failed = append(failed, fmt.Errorf("%s is not compared with the chart", name))
			}
		}
	}
	return errors.Join(failed...)
}

func (t chartTools) checkOverlays() error {
	var failed []error
	for _, row := range overlays {
		out, err := t.kubectl.Run("", "kustomize", filepath.Join(root(), row.folder))
		if err != nil {
			return err
		}
		want, err := objectsOf(out)
		if err != nil {
			return err
		}
		got, err := t.template(strings.TrimSuffix(asApplied+","+row.values, ","), "--skip-tests")
		if err != nil {
			return err
		}
		failed = append(failed, compare(row.folder, got, want))
	}
	return errors.Join(failed...)
}

func compare(folder string, got, want map[string]kube.Object) error {
	var failed []error
	for name, o := range want {
		if !reflect.DeepEqual(got[name], o) {
			failed = append(failed, fmt.Errorf("%s: %s is\n%s\nand in the chart\n%s", folder, name, o, got[name]))
		}
	}
	for name := range got {
		if want[name] == nil {
			failed = append(failed, fmt.Errorf("%s: only the chart has %s", folder, name))
		}
	}
	return errors.Join(failed...)
}

func (t chartTools) checkEffects() error {
	var failed []error
	for _, row := range effects {
		objects, err := t.template(row.values)
		if err != nil {
			return err
		}
		if got := objects[row.object].Text(row.path...); row.path != nil && got != row.want {
			failed = append(failed, fmt.Errorf("%s: %s of %s is '%s', not '%s'", row.values, strings.Join(row.path, "."), row.object, got, row.want))
		}
		if row.path == nil && objects[row.object] != nil {
			failed = append(failed, fmt.Errorf("%s: %s is there", row.values, row.object))
		}
	}
	return errors.Join(failed...)
}

func (t chartTools) checkRefusals() error {
	var failed []error
	for _, row := range refusals {
		_, err := t.template(row.values)
		if err == nil || !strings.Contains(err.Error(), row.says) {
			failed = append(failed, fmt.Errorf("%s: it does not say \"%s\": %v", row.values, row.says, err))
		}
	}
	return errors.Join(failed...)
}

// checkPackage looks whether a package has all that the folder links to.
func (t chartTools) checkPackage() error {
	if _, err := t.helm.Run("", "package", stage.Chart(root()), "-d", t.helm.Home, "--version", "1.2.3", "--app-version", "v1.2.3"); err != nil {
		return err
	}
	all := overlays[len(overlays)-1].values
	got, err := t.templateOf(filepath.Join(t.helm.Home, "halflife-1.2.3.tgz"), all)
	if err != nil {
		return err
	}
	want, err := t.template(all + ",image.tag=v1.2.3")
	if err != nil {
		return err
	}
	return compare("the package", got, want)
}

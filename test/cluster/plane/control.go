package plane

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"time"
)

//go:embed audit.yaml
var auditPolicy []byte

// AuditLog is where the API server records the requests of the programs under test.
func (pl *Plane) AuditLog() string { return pl.path("audit.log") }

func (pl *Plane) startAPI(etcdPort, peerPort, apiPort int) error {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", etcdPort), fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	pl.EtcdURL = client
	pl.has(&pl.Etcd, pl.process("etcd", pl.Set.Path("etcd"),
		"--name=halflife", "--data-dir="+pl.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=halflife="+peer))
	if err := os.WriteFile(pl.path("audit.yaml"), auditPolicy, 0o644); err != nil {
		return err
	}
	if err := pl.start(pl.Etcd); err != nil {
		return err
	}
	pl.has(&pl.APIServer, pl.process("kube-apiserver", pl.Set.Path("kube-apiserver"),
		"--etcd-servers="+client, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", apiPort), "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range="+pl.bare.Services, "--allow-privileged=true",
		"--tls-cert-file="+pl.path("serving.crt"), "--tls-private-key-file="+pl.path("serving.key"),
		"--client-ca-file="+pl.path("ca.crt"), "--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pl.path("sa.pub"), "--service-account-signing-key-file="+pl.path("sa.key"),
		"--requestheader-client-ca-file="+pl.path("ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User", "--enable-aggregator-routing=false",
		"--proxy-client-cert-file="+pl.path("proxy.crt"), "--proxy-client-key-file="+pl.path("proxy.key"),
		"--kubelet-client-certificate="+pl.path("admin.crt"), "--kubelet-client-key="+pl.path("admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file="+pl.path("audit.yaml"), "--audit-log-path="+pl.AuditLog(), "--audit-log-maxsize=4000",
		"--shutdown-delay-duration=0s"))
	return pl.StartAPIServer()
}

// StartAPIServer starts the API server (again, on the same port) and waits until it is ready.
func (pl *Plane) StartAPIServer() error {
	if err := pl.start(pl.APIServer); err != nil {
		return err
	}
	c, err := pl.Client()
	if err != nil {
		return err
	}
	return ready(pl.APIServer, patience, func() error { return c.Healthy("/readyz") })
}

// startControllers starts what makes of workloads pods and places them. A slow machine's late lease must not make a node
// unready: kwok would initialize it anew and lose its address, and nobody would read its usage any more.
func (pl *Plane) startControllers() error {
	pl.has(&pl.Controllers, pl.process("kube-controller-manager", pl.Set.Path("kube-controller-manager"),
		"--kubeconfig="+pl.Kubeconfig, "--use-service-account-credentials", "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+pl.path("sa.key"), "--root-ca-file="+pl.path("ca.crt"),
		"--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-deployment-syncs=10",
		"--concurrent-replicaset-syncs=10", "--horizontal-pod-autoscaler-sync-period=5s",
		"--node-monitor-grace-period="+pl.bare.Grace.String()))
	if err := pl.start(pl.Controllers); err != nil {
		return err
	}
	pl.has(&pl.Scheduler, pl.process("kube-scheduler", pl.Set.Path("kube-scheduler"),
		"--kubeconfig="+pl.Kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000"))
	return pl.start(pl.Scheduler)
}

// listening says whether something answers on a port of loopback.
func listening(port int) error {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

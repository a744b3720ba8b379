package jobs_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/healthgate"
	"doze/jobs"
)

func serviceOn(port string, checks ...nomad.ServiceCheck) *nomad.Service {
	return &nomad.Service{PortLabel: port, Checks: checks}
}

func TestParsePolicy_noProbe_takesTheServiceCheck(t *testing.T) {
	tcp := nomad.ServiceCheck{Type: "tcp", Interval: 5 * time.Second}
	grpc := nomad.ServiceCheck{Type: "grpc", GRPCService: "shop", GRPCUseTLS: true}
	web := nomad.ServiceCheck{
		Type: "http", Path: "up", Method: "HEAD", Protocol: "https",
		Header:   map[string][]string{"x-a": {"b"}, "host": {"shop"}},
		Interval: 10 * time.Second, Timeout: 2 * time.Second,
	}
	isTCP := healthgate.ProbeConfig{Kind: "tcp"}
	isWeb := healthgate.ProbeConfig{
		Kind: "http", Path: "/up", Method: "HEAD", TLS: true, Host: "shop",
		Header:   http.Header{"X-A": {"b"}},
		Interval: 10 * time.Second, Timeout: 2 * time.Second,
	}
	isGRPC := healthgate.ProbeConfig{Kind: "grpc", Service: "shop", TLS: true}
	other, runtime, posts, invalid := web, web, web, web
	invalid.Header = map[string][]string{"Content-Length": {"1"}}
	other.PortLabel, runtime.Path, posts.Body = "admin", "/${NOMAD_ALLOC_ID}", "{}"
	onAdmin := tcp
	onAdmin.PortLabel = "http"
	for _, c := range []struct {
		name     string
		services []*nomad.Service
		want     healthgate.ProbeConfig
	}{
		{"none", nil, isTCP},
		{"a nil service", []*nomad.Service{nil}, isTCP},
		{"http", []*nomad.Service{serviceOn("http", web)}, isWeb},
		{"grpc", []*nomad.Service{serviceOn("http", grpc)}, isGRPC},
		{"tcp", []*nomad.Service{serviceOn("http", tcp)},
			healthgate.ProbeConfig{Kind: "tcp", Interval: 5 * time.Second}},
		{"http before tcp and grpc", []*nomad.Service{
			serviceOn("http", tcp, grpc), serviceOn("http", web)}, isWeb},
		{"service of another port", []*nomad.Service{serviceOn("admin", web)}, isTCP},
		{"check of another port", []*nomad.Service{serviceOn("http", other)}, isTCP},
		{"check of this port", []*nomad.Service{serviceOn("admin", onAdmin)},
			healthgate.ProbeConfig{Kind: "tcp", Interval: 5 * time.Second}},
		{"script", []*nomad.Service{serviceOn("http", nomad.ServiceCheck{Type: "script"})}, isTCP},
		{"path of a running task", []*nomad.Service{serviceOn("http", runtime)}, isTCP},
		{"what no probe can send", []*nomad.Service{serviceOn("http", invalid)}, isTCP},
		{"request body", []*nomad.Service{serviceOn("http", posts)}, isTCP},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := shape()
			g.Services = c.services
			got, wrong := parse(t, `[{}]`, g)
			if len(wrong) > 0 || !reflect.DeepEqual(*got.Probe, c.want) {
				t.Errorf("got %+v, want %+v, %v", *got.Probe, c.want, wrong)
			}
		})
	}
}

func TestReadGroup_checkOfTheTasksService_isTheProbe(t *testing.T) {
	job := sleeper()
	task := nomad.NewTask("app", "raw_exec")
	task.Services = []*nomad.Service{
		serviceOn("http", nomad.ServiceCheck{Type: "http", Path: "/up"}),
	}
	job.TaskGroups[0].Tasks = []*nomad.Task{nil, task}
	got, wrong := jobs.ReadGroup(job, job.TaskGroups[0])
	if got == nil || got.Policy.Probe.Path != "/up" {
		t.Errorf("got %+v, %v", got, wrong)
	}
}

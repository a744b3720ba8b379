package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// The comparison with other proxies: DOZE_BENCH_PEERS=1 go test -run Peers -v ./api
// prints requests a second with 32 connections and small answers, all in one run. Each
// proxy is a process of its own in front of the same app, itself a process; wrk asks.
// What is not installed is left out by name. DOZE_BENCH_SECONDS is how long each of three
// rounds lasts (default 2).

const roleVar = "DOZE_BENCH_ROLE" // what this binary is when it is started as a peer

type peer struct {
	name   string
	config string   // a file; %[1]s listens there, %[2]s is the app, %[3]s a temporary directory
	args   []string // {} is the config's path; none: this binary in the role of name
}

var peers = []peer{
	{name: "gate"},
	{name: "gate-server"},
	{name: "ReverseProxy"},
	{name: "nginx", config: nginxConfig, args: []string{"nginx", "-e", "stderr", "-c", "{}"}},
	{name: "haproxy", config: haproxyConfig, args: []string{"haproxy", "-db", "-f", "{}"}},
	{name: "caddy", config: caddyConfig, args: []string{"caddy", "run", "--adapter", "caddyfile", "--config", "{}"}},
}

const nginxConfig = `
daemon off; worker_processes auto; pid %[3]s/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 100000000;
  client_body_temp_path %[3]s; proxy_temp_path %[3]s; fastcgi_temp_path %[3]s;
  uwsgi_temp_path %[3]s; scgi_temp_path %[3]s;
  upstream app { server %[2]s; keepalive 128; keepalive_requests 100000000; }
  server {
    listen %[1]s;
    location / {
      proxy_pass http://app; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`

const haproxyConfig = `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option forwardfor
  http-reuse always
frontend in
  bind %[1]s
  default_backend app
backend app
  server app %[2]s
`

const caddyConfig = `
{
	admin off
	auto_https off
}
http://%[1]s {
	reverse_proxy %[2]s
}
`

func TestPeers(t *testing.T) {
	if os.Getenv(roleVar) != "" {
		playRole(t)
		return
	}
	if os.Getenv("DOZE_BENCH_PEERS") == "" {
		t.Skip("DOZE_BENCH_PEERS is not set: not comparing with other proxies")
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		t.Skip("wrk is not installed")
	}
	app := freeAddr(t)
	contenders := []*contender{{name: "direct", addr: app, pid: startPeer(t, peer{name: "app"}, app, "")}}
	for _, p := range peers {
		if p.args != nil {
			if _, err := exec.LookPath(p.args[0]); err != nil {
				t.Logf("%s is not installed: left out", p.name)
				continue
			}
		}
		addr := freeAddr(t)
		contenders = append(contenders, &contender{name: p.name, addr: addr, pid: startPeer(t, p, addr, app)})
	}
	for range 3 {
		for _, c := range contenders {
			c.measure(t)
		}
	}
	report(t, contenders)
}

// contender is a running peer and what was measured of it.
type contender struct {
	name, addr string
	pid        int
	rates      []float64 // requests a second
	costs      []float64 // its own CPU time a request, in microseconds
}

func (c *contender) measure(t *testing.T) {
	before := cpuTicks(c.pid)
	rate, requests := wrk(t, c.addr)
	const tick = 1e6 / 100 // USER_HZ
	c.rates = append(c.rates, rate)
	c.costs = append(c.costs, (cpuTicks(c.pid)-before)*tick/requests)
}

// cpuTicks returns the CPU time of a process and its children.
func cpuTicks(pid int) float64 {
	ticks := 0.0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (comm) state ppid …; utime and stime are fields 14 and 15 (proc(5)).
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		id := strconv.Itoa(pid)
		if f[1] != id && filepath.Base(filepath.Dir(path)) != id {
			continue
		}
		for _, field := range f[11:13] {
			n, _ := strconv.ParseFloat(field, 64)
			ticks += n
		}
	}
	return ticks
}

func report(t *testing.T, contenders []*contender) {
	for _, c := range contenders {
		slices.Sort(c.rates)
		slices.Sort(c.costs)
	}
	gate := contenders[1]
	for _, c := range contenders {
		t.Logf("%-13s %6.0f/s (%.0f-%.0f), %3.0f us of CPU each; gate: %.2f x the rate, %.2f x the CPU",
			c.name, c.rates[1], c.rates[0], c.rates[2], c.costs[1],
			gate.rates[1]/c.rates[1], gate.costs[1]/c.costs[1])
	}
}

// wrk returns requests a second, and how many there were.
func wrk(t *testing.T, addr string) (rate, requests float64) {
	t.Helper()
	seconds := os.Getenv("DOZE_BENCH_SECONDS")
	if seconds == "" {
		seconds = "2"
	}
	out, err := exec.Command("wrk", "-t2", "-c32", "-d"+seconds+"s", "http://"+addr+"/").Output()
	if err != nil {
		t.Fatalf("wrk: %v", err)
	}
	if strings.Contains(string(out), "Non-2xx") || strings.Contains(string(out), "Socket errors") {
		t.Errorf("%s: %s", addr, out)
	}
	return number(t, out, `Requests/sec:\s+([\d.]+)`), number(t, out, `(\d+) requests in`)
}

func number(t *testing.T, out []byte, pattern string) float64 {
	t.Helper()
	m := regexp.MustCompile(pattern).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, out)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startPeer starts a process that is ended with the test.
func startPeer(t *testing.T, p peer, addr, app string) (pid int) {
	t.Helper()
	args := slices.Clone(p.args)
	dir := t.TempDir()
	if args == nil {
		args = []string{os.Args[0], "-test.run=^TestPeers$"}
	}
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, p.config, addr, app, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{}", config)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), roleVar+"="+p.name+","+addr+","+app, "HOME="+dir)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	for range 500 {
		if res, err := http.Get("http://" + addr); err == nil && res.StatusCode == 200 {
			res.Body.Close()
			return cmd.Process.Pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not answer: %s", p.name, &output)
	return 0
}

// playRole is a peer's process.
func playRole(t *testing.T) {
	role := strings.Split(os.Getenv(roleVar), ",")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{}
	switch role[0] {
	case "app":
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "hello, world")
		})
	case "ReverseProxy":
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: role[2]})
		proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
		server.Handler = proxy
	case "gate-server":
		server = benchGate(t, ctx, role[2]).Server()
	}
	l, err := net.Listen("tcp", role[1])
	if err != nil {
		t.Fatal(err)
	}
	if role[0] == "gate" {
		front := benchGate(t, ctx, role[2]).Front()
		context.AfterFunc(ctx, func() { front.Close() })
		front.Serve(l)
		return
	}
	context.AfterFunc(ctx, func() { server.Close() })
	server.Serve(l)
}

// benchGate is a gate in front of one awake app.
func benchGate(tb testing.TB, ctx context.Context, app string) *api.Gate {
	return loggedGate(tb, ctx, app, nil)
}

func loggedGate(tb testing.TB, ctx context.Context, app string, log *slog.Logger) *api.Gate {
	loop := idle.NewLoop(idle.Config{})
	go loop.Run(ctx)
	awake := &fixedApp{addr: app}
	group, err := loop.Add(idle.GroupConfig{ID: idle.GroupID{Job: "bench"}, Workload: awake,
		Policy: idle.Policy{WakeTimeout: time.Minute}})
	if err != nil {
		tb.Fatal(err)
	}
	awake.group = group
	routes := api.NewRoutes()
	routes.Put(&api.Site{Group: group, Routes: []api.Route{{Hosts: []string{"127.0.0.1", appHost}}}})
	gate, err := api.NewGate(api.GateConfig{Routes: routes, Log: log})
	if err != nil {
		tb.Fatal(err)
	}
	return gate
}

// fixedApp runs by itself at one address.
type fixedApp struct {
	addr  string
	group *idle.Group
}

func (a *fixedApp) Wake(context.Context, healthgate.Generation) error {
	a.group.SetTargets([]healthgate.Target{{ID: "app", Addr: a.addr}})
	return nil
}

func (a *fixedApp) Sleep(context.Context, healthgate.Generation, idle.Depth, string) error {
	return nil
}

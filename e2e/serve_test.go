//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/api/wire"
)

// patience bounds every wait for something that has to happen.
const patience = 30 * time.Second

// doze is one `doze serve` process and a client of it.
type doze struct {
	t       testing.TB
	cluster *cluster
	gate    string // host:port, the same over restarts
	api     string
	log     string // path
	cmd     *exec.Cmd
	ended   chan error
	http    *http.Client  // reaches the gate whatever the host, without kept connections
	within  time.Duration // bounds the wait for readiness
}

// startDoze starts `doze serve` for the cluster's namespace and waits until it is ready.
func startDoze(t testing.TB, c *cluster, args ...string) *doze {
	t.Helper()
	d := newDoze(t, c)
	d.start(args...)
	return d
}

// newDoze is one that has not been started yet.
func newDoze(t testing.TB, c *cluster) *doze {
	t.Helper()
	ports := freePorts(t, 2)
	d := &doze{t: t, cluster: c, gate: ports[0], api: ports[1], within: patience,
		log: filepath.Join(t.TempDir(), "doze.log")}
	d.http = &http.Client{Transport: d.transport()}
	t.Cleanup(d.cleanUp)
	return d
}

// transport dials the gate whatever the host of the URL.
func (d *doze) transport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", d.gate)
		},
	}
}

func (d *doze) start(args ...string) {
	d.t.Helper()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	fail(d.t, err)
	defer log.Close()
	d.cmd = exec.Command(binary, append([]string{"serve",
		"-gate-address", d.gate, "-api-address", d.api, "-log-level", "debug",
		"-namespaces", d.cluster.namespace, "-nomad-address", d.cluster.addr}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	fail(d.t, d.cmd.Start())
	d.ended = make(chan error, 1)
	cmd, ended := d.cmd, d.ended
	go func() { ended <- cmd.Wait() }() // ends with the process
	waitWithin(d.t, d.within, "doze serve to be ready", func() bool {
		resp, err := http.Get("http://" + d.api + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// end sends a signal and waits for the process to be gone.
func (d *doze) end(sig syscall.Signal) error {
	d.t.Helper()
	fail(d.t, d.cmd.Process.Signal(sig))
	select {
	case err := <-d.ended:
		d.cmd = nil
		return err
	case <-time.After(patience):
		d.t.Fatalf("doze serve does not end on %v", sig)
		return nil
	}
}

func (d *doze) cleanUp() {
	if d.cmd != nil {
		_ = d.end(syscall.SIGKILL) // the error only says that it was killed
	}
	if d.t.Failed() {
		log, err := os.ReadFile(d.log)
		d.t.Logf("the log of doze serve (%v):\n%s", err, log)
	}
}

// waitFor asks every 10 ms until it is so, or fails the test.
func (d *doze) waitFor(what string, is func() bool) {
	d.t.Helper()
	waitFor(d.t, what, is)
}

func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	waitWithin(t, patience, what, is)
}

func waitWithin(t testing.TB, limit time.Duration, what string, is func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for %s in vain", limit, what)
		}
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
	at     time.Time // when it was complete
}

// get asks the gate for a path of a host.
func (d *doze) get(host, path string) (answer, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return answer{}, err
	}
	return d.send(req)
}

func (d *doze) send(req *http.Request) (answer, error) {
	began := time.Now()
	resp, err := d.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	now := time.Now()
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body),
		took: now.Sub(began), at: now}, err
}

// mustGet is get for an answer that has to be 200.
func (d *doze) mustGet(host, path string) answer {
	d.t.Helper()
	got, err := d.get(host, path)
	if err != nil || got.status != http.StatusOK {
		d.t.Fatalf("GET %s%s: status %d, error %v: %.200s", host, path, got.status, err, got.body)
	}
	return got
}

func (d *doze) id(job string) wire.ID {
	return wire.ID{Namespace: d.cluster.namespace, Job: job, Group: "web"}
}

// group is the group of a job as the API tells it; ok is false where it isn't managed.
func (d *doze) group(job string) (detail wire.GroupDetail, ok bool) {
	d.t.Helper()
	resp, err := http.Get("http://" + d.api + d.id(job).Path())
	fail(d.t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return detail, false
	}
	fail(d.t, json.NewDecoder(resp.Body).Decode(&detail))
	return detail, true
}

func (d *doze) waitState(job string, state wire.State) {
	d.t.Helper()
	d.waitFor(fmt.Sprintf("%s to be %s", job, state), func() bool {
		group, ok := d.group(job)
		return ok && group.State == state
	})
}

// read decodes what the API answers at a path.
func (d *doze) read(path string, out any) {
	d.t.Helper()
	resp, err := http.Get("http://" + d.api + path)
	fail(d.t, err)
	defer resp.Body.Close()
	fail(d.t, json.NewDecoder(resp.Body).Decode(out))
}

// command posts to the API and returns the status.
func (d *doze) command(method, path string) int {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.api+path, nil)
	fail(d.t, err)
	resp, err := http.DefaultClient.Do(req)
	fail(d.t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

// rss is the process's resident memory now, and at its peak, in bytes.
func (d *doze) rss() (now, peak int64) {
	d.t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	fail(d.t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib int64
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			fmt.Sscan(rest, &kib)
			now = kib << 10
		}
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			fmt.Sscan(rest, &kib)
			peak = kib << 10
		}
	}
	return now, peak
}

// cli runs a verb against this doze serve.
func (d *doze) cli(args ...string) (string, error) {
	verb := append([]string{args[0], "-address", "http://" + d.api}, args[1:]...)
	out, err := exec.Command(binary, verb...).CombinedOutput()
	return string(out), err
}

// freePorts returns loopback addresses that were free a moment ago.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	var addrs []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		fail(t, err)
		defer listener.Close()
		addrs = append(addrs, listener.Addr().String())
	}
	return addrs
}

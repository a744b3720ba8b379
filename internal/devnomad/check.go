package devnomad

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// startChecks runs the checks of a Nomad service until the allocation ends: the
// first time after half the interval, as a real client does.
func (r *allocRun) startChecks(s *nomad.Service, reg *nomad.ServiceRegistration) {
	for i := range s.Checks {
		k := check{ServiceCheck: &s.Checks[i], id: fmt.Sprintf("%s-%d", reg.ID, i), reg: reg, r: r}
		r.mu.Lock()
		_, runs := r.checks[k.id]
		r.mu.Unlock()
		if !runs { // it may go on from before a restart
			k.record("pending", "nomad: waiting to run", 0)
			r.c.spawn(k.run)
		}
	}
}

// check is one check of a registered service.
type check struct {
	*nomad.ServiceCheck
	id  string
	reg *nomad.ServiceRegistration
	r   *allocRun
}

func (k check) run() {
	wait := k.Interval/2 + rand.N(k.Interval/10+1)
	for sleep(k.r.ctx, max(wait, time.Millisecond)) {
		k.once()
		wait = k.Interval
	}
}

func (k check) once() {
	ctx, cancel := context.WithTimeout(k.r.ctx, k.Timeout)
	defer cancel()
	status, output, code := "success", "nomad: "+k.Type+" ok", 0
	var err error
	if k.Type == "http" {
		code, output, err = k.http(ctx)
	} else {
		err = k.tcp(ctx)
	}
	if err != nil {
		status, output = "failure", "nomad: "+err.Error()
	}
	k.record(status, output, code)
}

func (k check) record(status, output string, code int) {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	k.r.checks[k.id] = nomad.AllocCheckStatus{
		ID: k.id, Check: k.Name, Group: k.r.placed.Name, Service: k.reg.ServiceName,
		Mode: "healthiness", Status: status, Output: output, StatusCode: code, Timestamp: k.r.c.now().Unix(),
	}
}

func (k check) address() string {
	port := k.reg.Port
	if k.PortLabel != "" {
		port = portOf(k.r.placed, k.PortLabel)
	}
	return net.JoinHostPort(k.reg.Address, strconv.Itoa(port))
}

func (k check) tcp(ctx context.Context) error {
	conn, err := k.r.c.dialTask(ctx, "tcp", k.address())
	if err != nil {
		return err
	}
	return conn.Close()
}

func (k check) http(ctx context.Context) (int, string, error) {
	method := k.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+k.address()+k.Path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header = http.Header(maps.Clone(k.Header))
	client := &http.Client{
		Transport:     &http.Transport{DialContext: k.r.c.dialTask, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 3<<10))
	if err != nil {
		return resp.StatusCode, "", err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return resp.StatusCode, "", fmt.Errorf("http status %d: %s", resp.StatusCode, body)
	}
	return resp.StatusCode, "nomad: http ok", nil
}

// dialTask reaches a task's port, in the process or on the network.
func (c *Cluster) dialTask(ctx context.Context, network, address string) (net.Conn, error) {
	if d, ok := c.cfg.Runner.(Dialer); ok {
		return d.DialContext(ctx, network, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

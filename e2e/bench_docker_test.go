//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// engine is a Docker daemon that runs already on this machine. It is asked over its API: the
// docker program would add its own start to every figure.
type engine struct {
	testing.TB
	http    *http.Client
	version string
	bridge  bool // it can publish ports
	image   string
}

const dockerSocket = "/var/run/docker.sock"

// findEngine finds the daemon, or says why there is none.
func findEngine(tb testing.TB) (*engine, error) {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix://" + dockerSocket
	}
	path, isUnix := strings.CutPrefix(host, "unix://")
	if !isUnix {
		return nil, fmt.Errorf("DOCKER_HOST=%s is not a socket of this machine", host)
	}
	e := &engine{TB: tb, http: &http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}}
	var about struct{ Version string }
	if err := e.call("GET", "/version", nil, &about); err != nil {
		return nil, errors.New("no daemon answers at " + path)
	}
	var networks []struct{ Name string }
	if err := e.call("GET", "/networks", nil, &networks); err != nil {
		return nil, err
	}
	e.version = about.Version
	for _, n := range networks {
		e.bridge = e.bridge || n.Name == "bridge"
	}
	return e, nil
}

// call sends what is to be sent, a reader's bytes or JSON, and decodes the answer.
func (e *engine) call(method, path string, in, out any) error {
	kind := "application/json"
	body, isTar := in.(io.Reader)
	if isTar {
		kind = "application/x-tar"
	} else if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, "http://docker"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 400:
		return fmt.Errorf("docker: %s %s: %s: %s", method, path, resp.Status, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// build makes an image of the application and nothing else, which is removed with the run.
func (e *engine) build(app string) {
	e.Helper()
	program, err := os.ReadFile(app)
	fail(e, err)
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for name, content := range map[string][]byte{
		"app":        program,
		"Dockerfile": []byte("FROM scratch\nCOPY app /app\nENTRYPOINT [\"/app\"]\n"),
	} {
		fail(e, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}))
		_, err := w.Write(content)
		fail(e, err)
	}
	fail(e, w.Close())
	image := fmt.Sprintf("doze-bench-%d", os.Getpid())
	fail(e, e.call("POST", "/build?rm=1&t="+image, &files, nil))
	e.Cleanup(func() { fail(e, e.call("DELETE", "/images/"+image, nil, nil)) })
	e.image = image
}

// container runs the application.
type container struct {
	*engine
	id, addr string
}

// hostNetwork lets the application listen on the machine's own loopback address: nothing is
// between it and its clients.
func (e *engine) hostNetwork() *container {
	e.Helper()
	addr := freePorts(e, 1)[0]
	return e.run(addr, map[string]any{"Image": e.image, "Env": []string{"NOMAD_ADDR_http=" + addr},
		"HostConfig": map[string]any{"NetworkMode": "host"}})
}

// published has a port of its own network published, as most containers have.
func (e *engine) published() *container {
	e.Helper()
	addr := freePorts(e, 1)[0]
	host, port, err := net.SplitHostPort(addr)
	fail(e, err)
	return e.run(addr, map[string]any{"Image": e.image, "Env": []string{"NOMAD_ADDR_http=:80"},
		"ExposedPorts": map[string]any{"80/tcp": struct{}{}},
		"HostConfig": map[string]any{"PortBindings": map[string]any{
			"80/tcp": []map[string]string{{"HostIp": host, "HostPort": port}}}}})
}

// run starts a container and waits until it answers.
func (e *engine) run(addr string, config map[string]any) *container {
	e.Helper()
	c := &container{engine: e, addr: addr}
	var made struct{ ID string }
	fail(e, e.call("POST", "/containers/create", config, &made))
	c.id = made.ID
	e.Cleanup(func() { fail(e, e.call("DELETE", "/containers/"+c.id+"?force=1", nil, nil)) })
	c.do("start")
	fail(e, c.dial().Close())
	return c
}

// do gives an order: start, stop, pause or unpause.
func (c *container) do(order string) {
	c.Helper()
	fail(c, c.call("POST", "/containers/"+c.id+"/"+order, nil, nil))
}

// dial connects as soon as the port is open.
func (c *container) dial() net.Conn {
	c.Helper()
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", c.addr)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			c.Fatalf("the container is not there: %v", err)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// pid is the container's first process.
func (c *container) pid() int {
	c.Helper()
	var about struct{ State struct{ Pid int } }
	fail(c, c.call("GET", "/containers/"+c.id+"/json", nil, &about))
	return about.State.Pid
}

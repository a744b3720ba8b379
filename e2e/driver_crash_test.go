//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// bystander is a task that has to live through a crash of whatever is above it.
type bystander struct {
	job   string
	depth depth
	conn  *client // a client that stays connected; of a parked task it comes in the crash; or nil
	addr  string
	life  string // of its process; "" for one that is parked
	alloc *nomad.Allocation
}

// The agent's SIGTERM and SIGKILL and the plugin's SIGKILL: nothing restarts, tasks sleep
// on as they slept, connections live on, and exit codes arrive.
func TestDriver_agentOrPluginDies_tasksDoNot(t *testing.T) {
	d := startDriven(t)
	tasks := d.bystanders()
	for _, crash := range []struct {
		name, exits string
		do          func(meanwhile func())
	}{
		{"agent SIGTERM", "exits-term", d.crashAgent(syscall.SIGTERM)},
		{"agent SIGKILL", "exits-kill", d.crashAgent(syscall.SIGKILL)},
		{"plugin SIGKILL", "exits-plugin", d.crashPlugin},
	} {
		t.Run(crash.name, func(t *testing.T) {
			for i := range tasks {
				d.bring(&tasks[i])
			}
			d.run(drivenJob{id: crash.exits, config: map[string]any{"listen": "http"}})
			d.mustGet(crash.exits, "/exit?code=9&after=300ms")
			crash.do(func() { d.visit(tasks) })
			for _, b := range tasks {
				d.checkUnhurt(b)
			}
			d.awaitEvent(crash.exits, "Exit Code: 9")
			for i := range tasks {
				d.checkUsable(&tasks[i])
			}
		})
	}
}

// bystanders are a task of each depth, with a client and without.
func (d *driven) bystanders() []bystander {
	d.t.Helper()
	var all []bystander
	for _, depth := range []depth{awake, frozen, parked} {
		for _, connected := range []bool{true, false} {
			b := bystander{depth: depth, job: fmt.Sprintf("%s-%t", depth, connected)}
			d.register(drivenJob{id: b.job,
				config: map[string]any{"listen": "http", "freeze_after": ""}})
			if connected {
				b.conn = &client{}
			}
			all = append(all, b)
		}
	}
	return all
}

// bring gets a task awake, its client connected, and then to its depth.
func (d *driven) bring(b *bystander) {
	d.t.Helper()
	d.awaitRunning(b.job)
	b.life, _ = d.whoAnswers(b.job)
	b.alloc = d.alloc(b.job)
	b.addr = d.addr(b.job)
	switch b.depth {
	case frozen:
		b.dial(d.t)
		d.sleep(b.job, "SIGSTOP", frozen)
	case parked:
		d.sleep(b.job, "SIGTSTP", parked)
		b.life = ""
	default:
		b.dial(d.t)
	}
}

// dial connects the task's client, if it is to have one.
func (b *bystander) dial(t testing.TB) {
	t.Helper()
	if b.conn != nil {
		fail(t, b.conn.dial(b.addr))
	}
}

// visit wakes those that are parked and are to have a client, while nobody but their
// shepherd is there.
func (d *driven) visit(tasks []bystander) {
	for i := range tasks {
		if b := &tasks[i]; b.depth == parked && b.conn != nil {
			b.dial(d.t)
		}
	}
}

// checkUnhurt looks whether a task is as it was.
func (d *driven) checkUnhurt(b bystander) {
	d.t.Helper()
	want := b.depth
	if want == parked && b.conn != nil {
		want = awake // by its visitor
	}
	if got := d.depth(b.job); got != want {
		d.t.Errorf("%s is %s now", b.job, got)
	}
	before, now := b.alloc.TaskStates["app"], d.task(b.job)
	if now.State != "running" || now.Restarts != 0 || !now.StartedAt.Equal(before.StartedAt) {
		d.t.Errorf("%s was restarted: %s", b.job, eventsOf(now))
	}
	if id := d.alloc(b.job).ID; id != b.alloc.ID {
		d.t.Errorf("%s has allocation %s now, not %s", b.job, id, b.alloc.ID)
	}
}

// checkUsable looks whether a task's client still is connected, and whether new ones reach
// the same process.
func (d *driven) checkUsable(b *bystander) {
	d.t.Helper()
	if b.conn != nil {
		if _, err := b.conn.get(); err != nil {
			d.t.Errorf("%s: the connection from before: %v", b.job, err)
		}
		b.conn.close()
	}
	if now, _ := d.whoAnswers(b.job); b.life != "" && now != b.life {
		d.t.Errorf("%s is the process from %s now, not %s", b.job, now, b.life)
	}
	d.signal(b.job, "SIGCONT") // the driver knows the task
}

// crashAgent ends the agent, and starts it again.
func (d *driven) crashAgent(sig syscall.Signal) func(meanwhile func()) {
	return func(meanwhile func()) {
		d.t.Helper()
		fail(d.t, d.agent.End(sig))
		meanwhile()
		time.Sleep(500 * time.Millisecond) // an exit comes while there is no agent
		fail(d.t, d.agent.Launch())
		d.awaitDriver()
	}
}

// crashPlugin ends the plugin's process; the agent starts another.
func (d *driven) crashPlugin(meanwhile func()) {
	d.t.Helper()
	before := pluginPid(d.t, d.plugin)
	fail(d.t, syscall.Kill(before, syscall.SIGKILL))
	meanwhile()
	d.await("another plugin process", func() error {
		if err := syscall.Kill(before, 0); err == nil {
			return fmt.Errorf("process %d still is there", before)
		}
		return d.client.Allocations().Signal(d.alloc("awake-true"), d.query(), "app", "SIGCONT")
	})
}

// client is one HTTP connection.
type client struct {
	conn net.Conn
	read *bufio.Reader
}

func (c *client) dial(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	c.conn, c.read = conn, bufio.NewReader(conn)
	_, err = c.get()
	return err
}

// get asks for / over the connection.
func (c *client) get() (string, error) {
	if err := c.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: app\r\n\r\n"); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(c.read, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func (c *client) close() { _ = c.conn.Close() } // an error means that it is closed

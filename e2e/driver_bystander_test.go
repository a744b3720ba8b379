//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// contact is what a task's client does around a crash of what is above the task.
type contact string

const (
	alone     contact = "alone"     // there is no client
	connected contact = "connected" // it has been, and says nothing until all is over
	speaking  contact = "speaking"  // it has been, and goes on asking all the time
	visited   contact = "visited"   // it comes in the outage
)

// bystander is a task that has to live through the crash.
type bystander struct {
	job        string
	activation string
	depth      depth // it is brought to
	contact    contact
	conn       client
	talk       *talk  // of a client that speaks; else nil
	addr       string // for the time when nobody can be asked
	life       string // of its process; "" for one that is parked
	line       string // that it was asked to write in the outage; "": it was not
	alloc      *nomad.Allocation
}

// bystanders are a task of each kind, depth and contact that there can be: a parked one has
// no connection, and one that holds its socket itself is not frozen under one.
func (d *driven) bystanders() []*bystander {
	d.t.Helper()
	var all []*bystander
	for _, kind := range []struct {
		activation string
		depth      depth
		contacts   []contact
	}{
		{"relay", awake, []contact{alone, connected, speaking}},
		{"relay", frozen, []contact{alone, connected, speaking, visited}},
		{"relay", parked, []contact{alone, visited}},
		{"socket", awake, []contact{alone, connected, speaking}},
		{"socket", frozen, []contact{alone, visited}},
		{"socket", parked, []contact{alone, visited}},
	} {
		for _, contact := range kind.contacts {
			b := &bystander{activation: kind.activation, depth: kind.depth, contact: contact,
				job: fmt.Sprintf("%s-%s-%s", kind.activation, kind.depth, contact)}
			d.register(drivenJob{id: b.job, config: map[string]any{"listen": "http",
				"freeze_after": "", "activation": b.activation}})
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
	if b.contact == connected || b.contact == speaking {
		fail(d.t, b.conn.dial(b.addr))
	}
	switch b.depth {
	case frozen:
		d.sleep(b.job, "SIGSTOP", frozen)
	case parked:
		d.sleep(b.job, "SIGTSTP", parked)
		b.life = ""
	case awake:
		if b.contact == speaking {
			b.talk = b.conn.talk()
		}
	}
}

// visit is what the client does while nobody is there but the task's shepherd. What a task
// writes then is read later.
func (d *driven) visit(b *bystander) {
	d.t.Helper()
	var err error
	switch {
	case b.contact == visited:
		err = b.conn.dial(b.addr)
	case b.contact == speaking && b.depth != awake:
		_, err = b.conn.get()
	}
	if err == nil && (b.depth == awake || b.contact == visited) {
		b.line = fmt.Sprintf("written at %d", time.Now().UnixNano())
		_, err = get(b.addr, "/log?line="+url.QueryEscape(b.line))
	}
	if err != nil {
		d.t.Errorf("%s: in the outage: %v", b.job, err)
	}
}

// checkUnhurt looks whether a task is as it was.
func (d *driven) checkUnhurt(b *bystander) {
	d.t.Helper()
	want := b.depth
	if b.contact == visited || b.contact == speaking {
		want = awake
	}
	if got := depthOf(d.t, b.alloc.ID); got != want {
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
	if b.talk != nil {
		if n, err := b.talk.end(); err != nil || n < 10 {
			d.t.Errorf("%s: the talk ended after %d answers: %v", b.job, n, err)
		}
	}
	if b.contact != alone {
		if _, err := b.conn.get(); err != nil {
			d.t.Errorf("%s: the connection from before: %v", b.job, err)
		}
		b.conn.close()
	}
	if now, _ := d.whoAnswers(b.job); b.life != "" && now != b.life {
		d.t.Errorf("%s is the process from %s now, not %s", b.job, now, b.life)
	}
	d.awaitLog(b.job, b.line)
	d.signal(b.job, "SIGCONT") // the driver knows the task
}

// client is one HTTP connection.
type client struct {
	conn net.Conn
	read *bufio.Reader
}

// dial connects and asks for the first time.
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

// talk is a client that asks again and again over its one connection.
type talk struct {
	stop, done chan struct{}
	answers    int
	err        error
}

// talk begins one. Until its end nobody else may use the connection.
func (c *client) talk() *talk {
	t := &talk{stop: make(chan struct{}), done: make(chan struct{})}
	go func() { // ends by end, or with the connection
		defer close(t.done)
		pause := time.NewTicker(20 * time.Millisecond)
		defer pause.Stop()
		for t.err == nil {
			if _, t.err = c.get(); t.err == nil {
				t.answers++
			}
			select {
			case <-t.stop:
				return
			case <-pause.C:
			}
		}
	}()
	return t
}

// end returns how many answers there were, and what went wrong.
func (t *talk) end() (int, error) {
	close(t.stop)
	<-t.done
	return t.answers, t.err
}

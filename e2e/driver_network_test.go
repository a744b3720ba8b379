//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
	"golang.org/x/sys/unix"
)

// cniPath is where distributions and Nomad's own instructions put CNI plugins.
const cniPath = "/opt/cni/bin:/usr/lib/cni"

// A group's network namespace is where its tasks live: the driver's promises hold there. The
// agent and this test get a network of their own, so that no bridge, no rule and no setting
// of theirs is left on the machine.
func TestDriver_inAGroupsNetwork(t *testing.T) {
	if os.Getenv(apart) == "" {
		needNetworks(t)
		runApart(t, unix.CLONE_NEWNET)
		return
	}
	fail(t, errors.Join(keepMounts(), loopbackUp()))
	conf := t.TempDir()
	fail(t, os.WriteFile(filepath.Join(conf, "own.conflist"), []byte(ownNetwork), 0o600))
	d := startDriven(t, fmt.Sprintf("client { cni_path = %q  cni_config_dir = %q }", cniPath, conf))
	var tasks []*insider
	for _, mode := range []string{"bridge", "cni/own"} {
		for _, activation := range []string{"relay", "socket"} {
			tasks = append(tasks, &insider{mode: mode, activation: activation})
		}
	}
	d.sideBySide("alive", tasks, (*insider).testAlive)
	fail(t, syscall.Kill(pluginPid(t, d.plugin), syscall.SIGKILL))
	d.sideBySide("after the plugin's death", tasks, (*insider).testOn)
	d.sideBySide("to the end", tasks, (*insider).testEnd)
}

// insider is a task in its group's network.
type insider struct {
	*driven
	mode, activation, job, life string
}

// sideBySide tests all of the tasks at once, and returns when all are done.
func (d *driven) sideBySide(what string, tasks []*insider, test func(*insider)) {
	d.t.(*testing.T).Run(what, func(t *testing.T) {
		for _, task := range tasks {
			t.Run(task.mode+" "+task.activation, func(t *testing.T) {
				t.Parallel()
				task.driven = d.in(t)
				test(task)
			})
		}
	})
}

// ownNetwork is a network of the machine's operator, which Nomad knows by name.
const ownNetwork = `{"cniVersion": "0.4.0", "name": "own", "plugins": [{"type": "loopback"},
	{"type": "bridge", "bridge": "own", "isGateway": true, "ipMasq": true, "ipam":
		{"type": "host-local", "subnet": "10.213.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}},
	{"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}]}`

// needNetworks skips the test where groups can have no network of their own.
func needNetworks(t *testing.T) {
	t.Helper()
	for _, need := range []string{"bridge", "host-local", "loopback", "portmap", "firewall"} {
		if !slices.ContainsFunc(filepath.SplitList(cniPath), func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, need))
			return err == nil
		}) {
			t.Skipf("SKIP: no CNI plugin %q in %s; tasks in a group's network were not tried on "+
				"a real agent", need, cniPath)
		}
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip("SKIP: no iptables; tasks in a group's network were not tried on a real agent")
	}
}

func loopbackUp() error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, lo)
}

// testAlive: the machine's port leads to the task, in its namespace; a client keeps it awake,
// and nobody lets it sleep: the kernel is asked in the right namespace.
func (d *insider) testAlive() {
	d.job = strings.ReplaceAll(d.mode, "/", "-") + "-" + d.activation
	d.submit(drivenJob{id: d.job, config: map[string]any{"listen": "http", "freeze_after": "1s",
		"activation": d.activation}, edit: func(job *nomad.Job) {
		job.TaskGroups[0].Networks = []*nomad.NetworkResource{{Mode: d.mode,
			DNS: &nomad.DNSConfig{Servers: []string{"192.0.2.53"},
				Searches: []string{"a.example"}},
			DynamicPorts: []nomad.Port{{Label: "http", To: 8080}}}}
	}})
	d.awaitRunning(d.job)
	d.life, _ = d.whoAnswers(d.job)
	d.checkPlace()
	d.checkInUse()
	d.awaitDepth(d.job, frozen)
}

// testOn: a connection thaws it, whoever is there to look.
func (d *insider) testOn() {
	if now, _ := d.whoAnswers(d.job); now != d.life {
		d.t.Errorf("the process from %s was thawed, not the one from %s", now, d.life)
	}
	d.awaitDepth(d.job, frozen)
}

// testEnd: it starts again in the same place, and leaves none.
func (d *insider) testEnd() {
	d.bringTo(d.job, parked)
	if now, _ := d.whoAnswers(d.job); now == d.life {
		d.t.Error("the process of before the parking answers")
	}
	d.checkPlace()
	alloc := d.alloc(d.job).ID
	d.stop(d.job)
	d.await("the namespace to be gone", func() error {
		_, err := os.Stat("/run/netns/" + alloc)
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("it is there: %v", err)
		}
		return noneOf(processesOf(d.t, alloc))
	})
}

// checkPlace: the application, and the commands that are run in it, are in the group's
// namespace and ask the group's name servers.
func (d *insider) checkPlace() {
	d.t.Helper()
	alloc := d.alloc(d.job)
	var group, own unix.Stat_t
	fail(d.t, unix.Stat("/run/netns/"+alloc.ID, &group))
	fail(d.t, unix.Stat("/proc/self/ns/net", &own))
	app, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", processesOf(d.t, alloc.ID)[0]))
	fail(d.t, err)
	want := fmt.Sprintf("net:[%d]", group.Ino)
	if group.Ino == own.Ino || app != want {
		d.t.Errorf("the app is in %s, not in %s", app, want)
	}
	if got := d.exec(d.job, "readlink", "/proc/self/ns/net"); got != want+"\n" {
		d.t.Errorf("a command runs in %s, not in %s", got, want)
	}
	if got := d.exec(d.job, "cat", "/etc/resolv.conf"); !strings.HasPrefix(got,
		"nameserver 192.0.2.53\nsearch a.example\n") {
		d.t.Errorf("its resolv.conf is %q", got)
	}
}

// checkInUse: an open connection keeps the task awake.
func (d *insider) checkInUse() {
	d.t.Helper()
	conn, err := net.Dial("tcp", d.addr(d.job))
	fail(d.t, err)
	defer conn.Close()
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		if got := d.depth(d.job); got != awake {
			d.t.Fatalf("with a client connected it is %s", got)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// exec runs a command in the job's task and returns what it writes.
func (d *driven) exec(job string, command ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	code, err := d.client.Allocations().Exec(ctx, d.alloc(job), "app", false, command,
		strings.NewReader(""), &out, &errs, nil, d.query())
	if err != nil || code != 0 {
		d.t.Fatalf("%v ended with %d, %v: %s", command, code, err, errs.String())
	}
	return out.String()
}

package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"doze/plugins/base"
	"doze/plugins/host"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// wireEnd is an agent's end of a plugin, without package host.
type wireEnd struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (wireEnd) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("an agent serves nothing")
}

func (wireEnd) GRPCClient(
	_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn,
) (any, error) {
	return conn, nil
}

func wireEnds() goplugin.PluginSet { return goplugin.PluginSet{"base": wireEnd{}, "driver": wireEnd{}} }

// nomads is what Nomad, 1.6 to 2.0.x, sets of go-plugin's client.
func nomads(t *testing.T) *goplugin.ClientConfig {
	t.Helper()
	return &goplugin.ClientConfig{Plugins: wireEnds(), Logger: hclog.NewNullLogger(),
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: base.ProtocolVersion,
			MagicCookieKey: base.CookieKey, MagicCookieValue: base.CookieValue},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd:              self(t, driverVar+"=probe", "GORACE=atexit_sleep_ms=0")}
}

// answers asks the plugin of a client for its name.
func answers(t *testing.T, c *goplugin.Client) (*grpc.ClientConn, error) {
	t.Helper()
	protocol, err := c.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense("base")
	if err != nil {
		return nil, err
	}
	conn := raw.(*grpc.ClientConn)
	info, err := basepb.NewBasePluginClient(conn).PluginInfo(t.Context(), &basepb.PluginInfoRequest{})
	if err == nil && info.GetName() != "probe" {
		t.Errorf("the plugin is %v", info)
	}
	return conn, err
}

func TestHandshake_allThatGoPluginCanAskFor_isAnswered(t *testing.T) {
	for name, set := range map[string]func(*goplugin.ClientConfig){
		"Nomad's own": func(*goplugin.ClientConfig) {},
		"mutual TLS":  func(c *goplugin.ClientConfig) { c.AutoMTLS = true },
		"multiplexed": func(c *goplugin.ClientConfig) { c.GRPCBrokerMultiplex = true },
		"bare environment": func(c *goplugin.ClientConfig) {
			c.SkipHostEnv = true
			c.Cmd.Env = []string{driverVar + "=probe"}
		},
		"several versions": func(c *goplugin.ClientConfig) {
			c.VersionedPlugins = map[int]goplugin.PluginSet{1: wireEnds(), 2: wireEnds(), 3: wireEnds()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := nomads(t)
			set(cfg)
			c := goplugin.NewClient(cfg)
			defer c.Kill()
			if _, err := answers(t, c); err != nil {
				t.Fatal(err)
			}
			if c.NegotiatedVersion() != 2 || c.Protocol() != goplugin.ProtocolGRPC {
				t.Errorf("it is version %d of %s", c.NegotiatedVersion(), c.Protocol())
			}
		})
	}
}

func TestHandshake_agentOfAnotherProtocol_isToldOurVersion(t *testing.T) {
	for _, version := range []uint{1, 3} {
		cfg := nomads(t)
		cfg.ProtocolVersion = version
		c := goplugin.NewClient(cfg)
		_, err := answers(t, c)
		c.Kill()
		if err == nil || !strings.Contains(err.Error(), "Plugin version: 2") {
			t.Errorf("an agent of version %d got %v", version, err)
		}
		if !c.Exited() {
			t.Errorf("the plugin that was refused by version %d goes on", version)
		}
	}
}

// stored is a reattachment as an agent keeps it: without go-plugin's ProtocolVersion.
type stored struct {
	Protocol, Network, Addr string
	Pid                     int
}

func TestReattach_fromWhatAnAgentStores_findsTheSameProcess(t *testing.T) {
	first := goplugin.NewClient(nomads(t))
	defer first.Kill()
	conn, err := answers(t, first)
	if err != nil {
		t.Fatal(err)
	}
	set := &basepb.SetConfigRequest{NomadConfig: &basepb.NomadConfig{}}
	if _, err := basepb.NewBasePluginClient(conn).SetConfig(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	r := first.ReattachConfig()
	text, err := json.Marshal(stored{string(r.Protocol), r.Addr.Network(), r.Addr.String(), r.Pid})
	if err != nil {
		t.Fatal(err)
	}
	var kept stored
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Protocol != "grpc" || kept.Network != "unix" || !strings.HasPrefix(kept.Addr, "/") {
		t.Errorf("an agent stores %s", text)
	}
	cfg := nomads(t)
	cfg.Cmd, cfg.Reattach = nil, &goplugin.ReattachConfig{Protocol: goplugin.Protocol(kept.Protocol),
		Addr: &net.UnixAddr{Name: kept.Addr, Net: kept.Network}, Pid: kept.Pid}
	conn, err = answers(t, goplugin.NewClient(cfg))
	if err != nil {
		t.Fatal(err)
	}
	_, err = driverpb.NewDriverClient(conn).StartTask(t.Context(),
		&driverpb.StartTaskRequest{Task: &driverpb.TaskConfig{Id: "a/b/c"}})
	if err != nil {
		t.Errorf("found again, without SetConfig, it returned %v", err)
	}
}

// A process that has the plugin's old number is not the plugin, and must not be ended for it.
func TestReattach_numberIsAnothers_isAnErrorAndHarmsNobody(t *testing.T) {
	other := exec.CommandContext(t.Context(), "sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	at := host.Attachment{Network: "unix", Address: t.TempDir() + "/gone", PID: other.Process.Pid}
	if _, err := host.Reattach(at, nil); err == nil {
		t.Errorf("Reattach to %+v had no error", at)
	}
	if err := other.Process.Kill(); err != nil {
		t.Errorf("the other process has been ended: %v", err)
	}
	_ = other.Wait() // it was killed
}

// FuzzHandshake holds that whatever an agent's environment says, the plugin either tells where
// it listens or why it does not, and never anything else.
func FuzzHandshake(f *testing.F) {
	f.Add(base.CookieValue, "2", "10000", "25000", "", "")
	f.Add("", "", "", "", "", "")
	f.Add(base.CookieValue, "1,3,x", "x", "-1", "not a certificate", "true")
	f.Add(base.CookieValue, ",,", "9", "1", "-----BEGIN CERTIFICATE-----", "maybe")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, cookie, versions, low, high, cert, mux string) {
		cmd := self(t, serveVar+"=1", base.CookieKey+"="+noNUL(cookie),
			"PLUGIN_PROTOCOL_VERSIONS="+noNUL(versions), "PLUGIN_MIN_PORT="+noNUL(low),
			"PLUGIN_MAX_PORT="+noNUL(high), "PLUGIN_CLIENT_CERT="+noNUL(cert),
			"PLUGIN_MULTIPLEX_GRPC="+noNUL(mux), "PLUGIN_UNIX_SOCKET_DIR="+dir)
		line, stderr, err := shakeHands(t, cmd)
		if strings.Contains(stderr, "panic:") {
			t.Fatal(stderr)
		}
		if cookie != base.CookieValue {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != 1 || line != "" || stderr == "" {
				t.Errorf("it ended with %v, said %q and %q", err, line, stderr)
			}
			return
		}
		if !strings.HasPrefix(line, "1|2|unix|"+dir+"/") || strings.Count(line, "|") < 5 {
			t.Errorf("the first line is %q, stderr %q", line, stderr)
		}
	})
}

// noNUL makes a text one that an environment can hold.
func noNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// shakeHands returns the first line of a plugin that is ended then.
func shakeHands(t *testing.T, cmd *exec.Cmd) (line, stderr string, err error) {
	t.Helper()
	var errs bytes.Buffer
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, &errs
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8<<10)
	n, _ := out.Read(buf) // io.EOF: it has said nothing
	if n > 0 {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	return string(buf[:n]), errs.String(), err
}

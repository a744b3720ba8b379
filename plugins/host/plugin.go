package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"doze/plugins/base"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// ErrExited says that the plugin's process has ended, in the course of a call or
// before.
var ErrExited = errors.New("the plugin's process has ended")

// Command is a plugin to start.
type Command struct {
	Path string
	Args []string
	Env  []string // "K=V", beyond this process's own environment, or instead of it
	// Log gets what the plugin logs, at the plugin's levels; nil: nothing.
	Log hclog.Logger
}

// Plugin is a plugin's process and the connection to it. Its methods may be called
// concurrently.
type Plugin struct {
	client *plugin.Client
	conn   *grpc.ClientConn
	done   context.Context // ends with the process
	base   basepb.BasePluginClient
	driver driverpb.DriverClient
}

// Attachment is how to find a running plugin again.
type Attachment struct {
	Network, Address string
	PID              int
}

// Launch starts a plugin and waits for its handshake.
func Launch(c Command) (*Plugin, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	p, err := connect(&plugin.ClientConfig{
		Cmd: cmd, Logger: logger(c.Log), SkipHostEnv: true}) // it is in Env already
	if err != nil {
		return nil, fmt.Errorf("cannot start plugin %q: %w", c.Path, err)
	}
	return p, nil
}

// Reattach connects to a plugin that another host has left running.
func Reattach(a Attachment, log hclog.Logger) (*Plugin, error) {
	addr, err := net.ResolveUnixAddr(a.Network, a.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot find the plugin's socket %q: %w", a.Address, err)
	}
	p, err := connect(&plugin.ClientConfig{Logger: logger(log), Reattach: &plugin.ReattachConfig{
		Protocol: plugin.ProtocolGRPC, ProtocolVersion: base.ProtocolVersion,
		Addr: addr, Pid: a.PID}})
	if err != nil {
		return nil, fmt.Errorf("cannot find plugin %d again: %w", a.PID, err)
	}
	return p, nil
}

func logger(log hclog.Logger) hclog.Logger {
	if log == nil {
		return hclog.NewNullLogger()
	}
	return log
}

func connect(cfg *plugin.ClientConfig) (*Plugin, error) {
	cfg.HandshakeConfig = plugin.HandshakeConfig{ProtocolVersion: base.ProtocolVersion,
		MagicCookieKey: base.CookieKey, MagicCookieValue: base.CookieValue}
	cfg.Plugins = plugin.PluginSet{"base": dispenser{}, "driver": dispenser{}}
	cfg.AllowedProtocols = []plugin.Protocol{plugin.ProtocolGRPC}
	p := &Plugin{client: plugin.NewClient(cfg)}
	link, err := p.link()
	if err != nil {
		p.client.Kill()
		return nil, err
	}
	p.conn, p.done = link.conn, link.done
	p.base = basepb.NewBasePluginClient(p.conn)
	p.driver = driverpb.NewDriverClient(p.conn)
	return p, nil
}

func (p *Plugin) link() (link, error) {
	protocol, err := p.client.Client()
	if err != nil {
		return link{}, err
	}
	dispensed, err := protocol.Dispense("driver")
	if err != nil {
		return link{}, err
	}
	l, ok := dispensed.(link)
	if !ok {
		return link{}, fmt.Errorf("go-plugin has dispensed a %T", dispensed)
	}
	return l, nil
}

// Attachment says how to find the plugin again.
func (p *Plugin) Attachment() Attachment {
	r := p.client.ReattachConfig()
	return Attachment{Network: r.Addr.Network(), Address: r.Addr.String(), PID: r.Pid}
}

// Done is closed when the plugin's process has ended.
func (p *Plugin) Done() <-chan struct{} { return p.done.Done() }

// Driver is the plugin's service as it is on the wire, for calls that no agent
// would make.
func (p *Plugin) Driver() driverpb.DriverClient { return p.driver }

// Base is the plugin's base service as it is on the wire.
func (p *Plugin) Base() basepb.BasePluginClient { return p.base }

// Kill ends the plugin as an agent does: it is asked to, and has 2 s.
func (p *Plugin) Kill() { p.client.Kill() }

// Crash ends the plugin at once, by SIGKILL, and waits until it has ended.
func (p *Plugin) Crash() error {
	r := p.client.ReattachConfig()
	if r == nil {
		return nil // it has been ended before
	}
	process, err := os.FindProcess(r.Pid)
	if err != nil {
		return fmt.Errorf("cannot find plugin %d: %w", r.Pid, err)
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot kill plugin %d: %w", r.Pid, err)
	}
	<-p.done.Done()
	p.client.Kill() // closes the connection
	return nil
}

// Abandon closes the connection, as when an agent crashes: the plugin goes on. The
// Plugin is not usable any more.
func (p *Plugin) Abandon() error { return p.conn.Close() }

// link is what go-plugin gives to those who dispense from a plugin.
type link struct {
	conn *grpc.ClientConn
	done context.Context
}

type dispenser struct {
	plugin.NetRPCUnsupportedPlugin
}

func (dispenser) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host serves nothing")
}

func (dispenser) GRPCClient(
	done context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn,
) (any, error) {
	return link{conn: conn, done: done}, nil
}

package plugins

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
	"doze/plugins/internal/server"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// ErrNotLaunched says that no agent has started this process.
var ErrNotLaunched = errors.New("this is a Nomad plugin: " +
	"it is started by a Nomad agent, from its plugin_dir")

// Launched says whether a Nomad agent has started this process as a plugin.
func Launched() bool { return os.Getenv(base.CookieKey) == base.CookieValue }

// Serve serves a driver to the agent that has started this process, and returns
// when the agent ends it; the tasks are to go on. Call it first thing in main.
//
// An agent starts the process several times just to ask for its name and to check
// its configuration: newDriver and the driver's Info, schemas and Capabilities are
// to be quick and without side effects (see base.Configurable). What newDriver
// prints goes to stderr. The logger writes what agents take for log lines.
//
// Serve returns an error at once, before the agent hears anything, if the driver's
// Info or schemas are not valid, if Launched is false, or if it cannot listen.
func Serve(newDriver func(log hclog.Logger) drivers.Driver) error {
	if !Launched() {
		return ErrNotLaunched
	}
	// When the agent has gone, the next line to stderr must not end the plugin. The signal is
	// caught and not ignored: what is ignored would be so in every task too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	keepInherited()
	log := hclog.New(&hclog.LoggerOptions{
		Level: hclog.Debug, Output: os.Stderr, JSONFormat: true})
	stdout := os.Stdout // belongs to the handshake
	os.Stdout = os.Stderr
	d := newDriver(log)
	os.Stdout = stdout
	if err := validate(d); err != nil {
		return err
	}
	b, served := server.NewBase(d), false
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: base.ProtocolVersion,
			MagicCookieKey: base.CookieKey, MagicCookieValue: base.CookieValue},
		Plugins: plugin.PluginSet{"base": basePlugin{server: b}, "driver": driverPlugin{driver: d}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			served = true
			// As much as agents send and take: gRPC's own limit is 4 MiB.
			opts = append(opts, grpc.MaxRecvMsgSize(math.MaxInt32))
			return grpc.NewServer(append(opts, b.Guard()...)...)
		},
		Logger: log,
	})
	if !served {
		return errors.New("cannot serve the plugin: the last line of its log says why")
	}
	return nil
}

// validate finds now what an agent would only say in its own words.
func validate(d drivers.Driver) error {
	errs := []error{d.Info().Validate()}
	if c, ok := d.(base.Configurable); ok {
		if err := hclspec.Validate(c.ConfigSchema()); err != nil {
			errs = append(errs, fmt.Errorf("cannot use the plugin's schema: %w", err))
		}
	}
	schema := d.TaskSchema()
	if schema == nil {
		errs = append(errs, errors.New("cannot use the tasks' schema: it is nil"))
	} else if err := hclspec.Validate(schema); err != nil {
		errs = append(errs, fmt.Errorf("cannot use the tasks' schema: %w", err))
	}
	return errors.Join(errs...)
}

// errHost is what go-plugin would get if it asked a plugin to be a host.
var errHost = errors.New("a plugin has no client: see package host")

type basePlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server.Base
}

func (p basePlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	basepb.RegisterBasePluginServer(s, p.server)
	return nil
}

func (basePlugin) GRPCClient(
	context.Context, *plugin.GRPCBroker, *grpc.ClientConn,
) (any, error) {
	return nil, errHost
}

type driverPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	driver drivers.Driver
}

func (p driverPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	driverpb.RegisterDriverServer(s, server.NewDriver(p.driver))
	return nil
}

func (driverPlugin) GRPCClient(
	context.Context, *plugin.GRPCBroker, *grpc.ClientConn,
) (any, error) {
	return nil, errHost
}

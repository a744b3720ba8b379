package base

import (
	"context"

	"doze/plugins/hclspec"
)

// Plugin is what every plugin implements.
type Plugin interface {
	// Info is asked for in every process, also in those that only live to
	// answer it. It has no side effects.
	Info() Info
}

// Configurable is a plugin that takes a `config` block from the agent's
// `plugin "…"` block, or wants to know when it begins to serve.
//
// An agent starts the plugin's process about three times when it boots: to ask
// for its Info, to check its configuration (CheckConfig, twice), and to use it
// (CheckConfig, then Configure). Only Configure may have side effects. An agent
// that finds the process of its predecessor calls neither again.
type Configurable interface {
	// ConfigSchema is the shape of the `config` block; nil: there is none.
	ConfigSchema() hclspec.Spec
	// CheckConfig says what is wrong with a configuration. It has no side effects.
	CheckConfig(cfg Config) error
	// Configure is the beginning of service. It follows a CheckConfig without
	// error, and precedes every call about a task.
	Configure(ctx context.Context, cfg Config) error
}

// Config is the configuration of a plugin.
type Config struct {
	// Raw is the `config` block in msgpack, in the shape of ConfigSchema;
	// empty if the plugin takes no configuration.
	Raw []byte
	// APIVersion is the version of the protocol that the agent has chosen.
	APIVersion string
	// Agent is what the agent tells of itself; nil in CheckConfig when the
	// configuration is only being checked.
	Agent *Agent
}

// Decode reads the `config` block into a struct; see hclspec.Decode. Without a
// block it leaves the struct as it is.
func (c Config) Decode(into any) error {
	if len(c.Raw) == 0 {
		return nil
	}
	return hclspec.Decode(c.Raw, into)
}

// Agent is what an agent tells a driver of itself.
type Agent struct {
	// MinPort and MaxPort bound the ports that plugins may listen on.
	MinPort, MaxPort uint32
	// Topology of the machine; nil before Nomad 1.7.
	Topology *Topology
}

// Topology is the layout of the machine's cores as the agent sees it.
type Topology struct {
	Nodes []uint32 // NUMA nodes
	Cores []Core
	// OverrideCompute replaces, and WithheldCompute lessens, the compute that
	// the cores add up to, in MHz; 0: not set.
	OverrideCompute, WithheldCompute uint64
}

// Core is one logical core.
type Core struct {
	Socket, Node, ID    uint32
	Efficiency          bool   // a slower core of a mixed machine
	Disabled            bool   // not for tasks
	BaseSpeed, MaxSpeed uint64 // MHz; 0: unknown
	GuessedSpeed        uint64 // MHz, where the two above are unknown
}

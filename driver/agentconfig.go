package driver

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// AgentConfig is the config block of the agent's plugin "doze" block.
type AgentConfig struct {
	// Enabled: jobs may use the driver. Default true.
	Enabled bool
	// StateDir holds the shepherds' sockets; default /run/doze. It has to be one that a
	// boot empties: what lies in it means nothing to the next one. At most 69 bytes,
	// since the path of a socket may not be longer than 107.
	StateDir string
	// User runs the tasks that name none; default nobody.
	User string
	// AllowRoot lets jobs name root as their user.
	AllowRoot bool
	// Logs says how shepherds write the logs of tasks whose config has no logs block of its
	// own. Nomad starts no log collector then, for any task of the driver. The zero value: it
	// does.
	Logs LogConfig
}

// rawAgent is the config block as Nomad sends it.
type rawAgent struct {
	Enabled   bool     `hcl:"enabled"`
	StateDir  string   `hcl:"state_dir"`
	User      string   `hcl:"user"`
	AllowRoot bool     `hcl:"allow_root"`
	Logs      *rawLogs `hcl:"logs"`
}

// read returns what the block says, and all that is wrong with it.
func (r rawAgent) read() (AgentConfig, error) {
	var problems Problems
	c := AgentConfig{Enabled: r.Enabled, StateDir: r.StateDir, User: r.User,
		AllowRoot: r.AllowRoot, Logs: r.Logs.read(&problems)}
	return c.withDefaults(), errors.Join(c.Validate(), problems.err())
}

// DefaultStateDir is where shepherds are found that the agent's configuration does not place.
const DefaultStateDir = "/run/doze"

const (
	defaultUser = "nobody"
	maxStateDir = 69
)

// withDefaults fills in what the block leaves out.
func (c AgentConfig) withDefaults() AgentConfig {
	c.StateDir = filepath.Clean(word(c.StateDir, DefaultStateDir))
	c.User = word(c.User, defaultUser)
	return c
}

// Validate returns all that is wrong. The zero value is valid.
func (c AgentConfig) Validate() error {
	c = c.withDefaults()
	var errs []error
	switch {
	case !filepath.IsAbs(c.StateDir):
		errs = append(errs, fmt.Errorf("config > state_dir: %q is not absolute; "+
			"name a directory that a boot empties, as in %s", c.StateDir, DefaultStateDir))
	case len(c.StateDir) > maxStateDir:
		errs = append(errs, fmt.Errorf("config > state_dir: is longer than %d bytes; "+
			"the path of a socket has to be short", maxStateDir))
	case c.StateDir == "/":
		errs = append(errs, errors.New("config > state_dir: is /; name a directory below it"))
	}
	if strings.ContainsAny(c.User, ":/ \t\n") {
		errs = append(errs, fmt.Errorf("config > user: %q is no name of a user", c.User))
	}
	if isRoot(c.User) && !c.AllowRoot {
		errs = append(errs, errors.New("config > user: is root; "+
			"set allow_root = true if tasks without a user shall run as root"))
	}
	return errors.Join(errs...)
}

// isRoot reports whether a user's name or number is root's.
func isRoot(user string) bool { return user == "root" || user == "0" }

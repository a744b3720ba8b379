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
	Enabled bool `hcl:"enabled"`
	// StateDir holds the shepherds' sockets; default /run/doze. It has to be one that a
	// boot empties: what lies in it means nothing to the next one. At most 69 bytes,
	// since the path of a socket may not be longer than 107.
	StateDir string `hcl:"state_dir"`
	// User runs the tasks that name none; default nobody.
	User string `hcl:"user"`
	// AllowRoot lets jobs name root as their user.
	AllowRoot bool `hcl:"allow_root"`
}

const (
	defaultStateDir = "/run/doze"
	defaultUser     = "nobody"
	maxStateDir     = 69
)

// withDefaults fills in what the block leaves out.
func (c AgentConfig) withDefaults() AgentConfig {
	c.StateDir = filepath.Clean(word(c.StateDir, defaultStateDir))
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
			"name a directory that a boot empties, as in %s", c.StateDir, defaultStateDir))
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

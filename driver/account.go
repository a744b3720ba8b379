package driver

import (
	"errors"
	"fmt"
	"os/user"
)

// account is who a task runs as: the job's user or else the agent's default.
func account(name string, cfg AgentConfig) (*user.User, error) {
	name = word(name, cfg.User)
	as, err := user.Lookup(name)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown {
		as, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run the task as user %q: %w", name, err)
	}
	if as.Uid == "0" && !cfg.AllowRoot {
		return nil, fmt.Errorf("cannot run the task as user %q, who is root; leave user out, or "+
			`set allow_root = true in the agent's plugin "doze" block`, name)
	}
	return as, nil
}

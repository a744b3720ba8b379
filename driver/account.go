package driver

import (
	"fmt"
	"os/user"
	"strings"
)

// account is who a task runs as.
type account struct {
	*user.User
	group string // the id of the group that the job names; "": the user's own groups
}

// ids are the account as a shepherd takes it.
func (a account) ids() string {
	if a.group == "" {
		return a.Uid
	}
	return a.Uid + ":" + a.group
}

// accountOf is the job's user, "name" or "name:group" by names or numbers, or else the
// agent's default.
func accountOf(task string, cfg AgentConfig) (account, error) {
	whole := word(task, cfg.User)
	name, group, _ := strings.Cut(whole, ":")
	a, err := readAccount(name, group)
	if err != nil {
		return account{}, fmt.Errorf("cannot run the task as user %q: %w", whole, err)
	}
	if !cfg.AllowRoot && (a.Uid == "0" || a.group == "0") {
		return account{}, fmt.Errorf("cannot run the task as user %q, which is root's; leave user "+
			`out, or set allow_root = true in the agent's plugin "doze" block`, whole)
	}
	return a, nil
}

func readAccount(name, group string) (account, error) {
	as, err := user.Lookup(name)
	if err != nil {
		as, err = user.LookupId(name)
	}
	if err != nil {
		return account{}, fmt.Errorf("this node has no user %q", name)
	}
	if group == "" {
		return account{User: as}, nil
	}
	in, err := user.LookupGroup(group)
	if err != nil {
		in, err = user.LookupGroupId(group)
	}
	if err != nil {
		return account{}, fmt.Errorf("this node has no group %q", group)
	}
	return account{User: as, group: in.Gid}, nil
}

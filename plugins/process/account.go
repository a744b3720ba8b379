package process

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"doze/plugins/drivers"
)

// becomeUser makes the process the job's user's; without one it is the plugin's own.
func becomeUser(task drivers.TaskConfig, cmd *exec.Cmd) error {
	if task.User == "" || cmd.SysProcAttr.Credential != nil {
		return nil
	}
	c, err := credential(task.User)
	cmd.SysProcAttr.Credential = c
	return err
}

// credential is that of a user, by name or number, with all its groups.
func credential(name string) (*syscall.Credential, error) {
	account, err := user.Lookup(name)
	if err != nil {
		account, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find user %q: %w", name, err)
	}
	groups, err := account.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("cannot find the groups of user %q: %w", name, err)
	}
	// Only root may choose them; anybody may become himself.
	c := &syscall.Credential{NoSetGroups: os.Geteuid() != 0}
	for _, number := range []struct {
		text string
		to   *uint32
	}{{account.Uid, &c.Uid}, {account.Gid, &c.Gid}} {
		if err := parseID(number.text, number.to); err != nil {
			return nil, err
		}
	}
	for _, text := range groups {
		var id uint32
		if err := parseID(text, &id); err != nil {
			return nil, err
		}
		c.Groups = append(c.Groups, id)
	}
	return c, nil
}

func parseID(text string, to *uint32) error {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("cannot read the number of a user or group: %w", err)
	}
	*to = uint32(id)
	return nil
}

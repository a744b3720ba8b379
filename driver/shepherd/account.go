package shepherd

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account returns the credentials of a name, a numeric id, or either with ":group"; "" is
// nobody. A numeric id needs no entry in the password file; its group is its own number
// then.
func account(name string) (*syscall.Credential, error) {
	if name == "" {
		name = "nobody"
	}
	name, group, hasGroup := strings.Cut(name, ":")
	cred, err := lookUp(name)
	if err == nil && hasGroup {
		cred.Gid, err = groupID(group)
		cred.Groups = nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run as user %q: %w", name, err)
	}
	return cred, nil
}

func lookUp(name string) (*syscall.Credential, error) {
	id, numeric := parseID(name)
	u, err := user.Lookup(name)
	if err != nil && numeric {
		u, err = user.LookupId(name)
	}
	if err != nil && numeric {
		return &syscall.Credential{Uid: id, Gid: id}, nil
	}
	if err != nil {
		return nil, err
	}
	return credential(u)
}

func credential(u *user.User) (*syscall.Credential, error) {
	uid, okUser := parseID(u.Uid)
	gid, okGroup := parseID(u.Gid)
	if !okUser || !okGroup {
		return nil, errors.New("its id is not a number")
	}
	cred := &syscall.Credential{Uid: uid, Gid: gid}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if id, ok := parseID(g); ok {
			cred.Groups = append(cred.Groups, id)
		}
	}
	return cred, nil
}

func groupID(name string) (uint32, error) {
	if id, ok := parseID(name); ok {
		return id, nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	id, ok := parseID(g.Gid)
	if !ok {
		return 0, errors.New("its group's id is not a number")
	}
	return id, nil
}

func parseID(text string) (uint32, bool) {
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err == nil
}

package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// mount is a line of proc_pid_mountinfo(5).
type mount struct {
	id, parent             int
	point, fstype, options string
	readOnly               bool
}

// mounts are those of a mount namespace.
type mounts []mount

// maxLine bounds a line: an overlay of many layers has a long one.
const maxLine = 1 << 20

func readMounts(r io.Reader) (mounts, error) {
	var all mounts
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if m, ok := parseMount(lines.Text()); ok {
			all = append(all, m)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read mounts: %w", err)
	}
	return all, nil
}

// parseMount takes what is needed of a line; ok is false where it is none.
func parseMount(line string) (m mount, ok bool) {
	fields := strings.Fields(line)
	sep := slices.Index(fields, "-")
	if sep < 6 || len(fields) < sep+4 {
		return mount{}, false
	}
	id, idErr := strconv.Atoi(fields[0])
	parent, parentErr := strconv.Atoi(fields[1])
	if idErr != nil || parentErr != nil {
		return mount{}, false
	}
	return mount{
		id: id, parent: parent, point: unescape(fields[4]),
		fstype: fields[sep+1], options: fields[sep+3],
		readOnly: slices.Contains(strings.Split(fields[5], ","), "ro"),
	}, true
}

// unescape undoes what the kernel does to paths with blanks in them.
func unescape(path string) string {
	if !strings.Contains(path, `\`) {
		return path
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// reaches reports whether the path of m's mount point leads to m: nothing is mounted over
// it, nor over anything that it is mounted on.
func (all mounts) reaches(m mount) bool {
	for _, over := range all {
		if over.parent == m.id && over.id != m.id && over.point == m.point {
			return false
		}
	}
	for range all { // a bound, should they name each other as parents
		if all.hides(m) {
			return false
		}
		on := slices.IndexFunc(all, func(p mount) bool { return p.id == m.parent })
		if on < 0 {
			break
		}
		m = all[on]
	}
	return true
}

// hides reports whether what m is mounted on has another mount nearer to its root.
func (all mounts) hides(m mount) bool {
	return slices.ContainsFunc(all, func(over mount) bool {
		return over.parent == m.parent && over.id != m.id && isBelow(m.point, over.point)
	})
}

// isBelow reports whether path lies in the tree of dir, and is not dir itself.
func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && path != dir && strings.HasPrefix(rest, "/")
}

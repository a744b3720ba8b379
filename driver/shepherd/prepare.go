package shepherd

import (
	"os"
)

// sh is the shell that tells a socket-activated application its own pid: sd_listen_fds(3)
// wants LISTEN_PID to be the number of the process that reads it, which nobody knows before
// it exists. The shell becomes the application.
const sh = "/bin/sh"

// prepare says how the application is to be started this time.
func (t *task) prepare() (command, *application, error) {
	gift, err := t.port.give()
	if err != nil {
		return command{}, nil, err
	}
	path, err := t.spec.find(t.spec.Command)
	if err != nil {
		return command{}, nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return command{}, nil, err
	}
	c := command{
		path:  path,
		argv:  append([]string{path}, t.spec.arguments(gift.port)...),
		env:   t.spec.environ(gift.port, nil),
		dir:   t.spec.Dir,
		files: []*os.File{null, t.logs[0], t.logs[1]},
		owned: []*os.File{null},
	}
	if gift.file != nil {
		c.files = append(c.files, gift.file)
		c.env = append(c.env, "LISTEN_FDS=1", "LISTEN_FDNAMES=doze", "LISTEN_PID=0")
		c.argv = append([]string{sh, "-c", `LISTEN_PID=$$ exec "$@"`, sh}, c.argv...)
		c.path = sh
	}
	return c, &application{port: gift.port, addr: gift.addr}, nil
}

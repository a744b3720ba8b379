package process

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"doze/plugins/drivers"
)

// prepared is what is open for a start.
type prepared struct {
	files []*os.File
}

func (p *prepared) close() {
	for _, f := range p.files {
		_ = f.Close() // nothing was written by this process
	}
}

// prepare completes a command.
func prepare(task drivers.TaskConfig, cmd *exec.Cmd) (*prepared, error) {
	if cmd.Dir == "" {
		cmd.Dir = task.TaskDir()
	}
	if cmd.Env == nil {
		cmd.Env = environ(task)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	p := &prepared{}
	for _, step := range []func(drivers.TaskConfig, *exec.Cmd) error{
		becomeUser, p.openLogs,
	} {
		if err := step(task, cmd); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// environ is never nil, which would be this process's own.
func environ(task drivers.TaskConfig) []string {
	env := maps.Clone(task.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, task.DeviceEnv)
	out := []string{}
	for _, key := range slices.Sorted(maps.Keys(env)) {
		out = append(out, key+"="+env[key])
	}
	return out
}

package driver

import (
	"os"
	"path/filepath"

	"doze/driver/shepherd"
	"doze/plugins/drivers"
)

// LogConfig is the logs block of a task's config, or of the agent's for all tasks: the shepherd
// writes the app's output to the files that Nomad reads, so that no collector of Nomad's need
// run. The zero value: it does not.
type LogConfig struct {
	MaxFiles    int // kept of each of the two logs
	MaxFileSize int // MB, as Nomad counts them: 1024 * 1024 bytes
}

// on reports whether there is a block.
func (c LogConfig) on() bool { return c != LogConfig{} }

// What Nomad's own logs block means where it says nothing.
const (
	defaultMaxFiles    = 10
	defaultMaxFileSize = 10
)

// maxLogMB keeps what a job may write from overflowing.
const maxLogMB = 1 << 20

// rawLogs is a logs block as Nomad sends it.
type rawLogs struct {
	MaxFiles    *int `hcl:"max_files"`
	MaxFileSize *int `hcl:"max_file_size"`
}

// read returns what the block says; nil, one left out, is the zero value.
func (r *rawLogs) read(ps *Problems) LogConfig {
	if r == nil {
		return LogConfig{}
	}
	c := LogConfig{MaxFiles: defaultMaxFiles, MaxFileSize: defaultMaxFileSize}
	if r.MaxFiles != nil {
		c.MaxFiles = *r.MaxFiles
	}
	if r.MaxFileSize != nil {
		c.MaxFileSize = *r.MaxFileSize
	}
	if c.MaxFiles < 1 {
		ps.add("logs > max_files", "use at least 1, or leave it out for 10", "is %d", c.MaxFiles)
	}
	if c.MaxFileSize < 1 || c.MaxFileSize > maxLogMB {
		ps.add("logs > max_file_size", "it is in MB: use 1 to 1048576, or leave it out for 10",
			"is %d", c.MaxFileSize)
	}
	return c
}

// logFiles says where a task's shepherd is to write, by the task's own block or the agent's.
// Two collectors would write the same files, so Nomad's has to be off.
func logFiles(task drivers.TaskConfig, own, agents LogConfig, ps *Problems) shepherd.LogFiles {
	wanted := wantsLog(task.StdoutPath) || wantsLog(task.StderrPath)
	c := own
	if !own.on() && wanted {
		c = agents
	}
	if !c.on() {
		return shepherd.LogFiles{}
	}
	if wanted && !agents.on() {
		ps.add("logs", "write logs { disabled = true } in the task, beside "+
			"config, or logs {} in the config of the agent's plugin block",
			"Nomad collects this task's logs already")
	}
	return shepherd.LogFiles{
		Dir: filepath.Join(task.SharedDir(), "logs"), Name: task.Name,
		MaxFiles: c.MaxFiles, MaxSize: int64(c.MaxFileSize) << 20,
	}
}

// wantsLog reports whether Nomad names a pipe to write to, as it does where the job has not
// switched its logs off, be there somebody to read it or not.
func wantsLog(path string) bool { return path != "" && path != os.DevNull }

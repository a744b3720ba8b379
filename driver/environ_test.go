package driver

import (
	"os/user"
	"slices"
	"testing"

	"doze/plugins/drivers"
)

func TestEnviron_agentsOwnUser_isNotTheTasks(t *testing.T) {
	t.Setenv("HOME", "/root")
	t.Setenv("USER", "root")
	t.Setenv("LOGNAME", "root")
	t.Setenv("NOMAD_PLUGIN_MAGIC_COOKIE", "cookie")
	task := drivers.TaskConfig{
		Name: "web", AllocDir: "/alloc",
		Env: map[string]string{"PATH": "/bin", "HOME": "/root", "USER": "root",
			"LOGNAME": "www", "NOMAD_PLUGIN_MAGIC_COOKIE": "cookie", "A": "1"},
		DeviceEnv: map[string]string{"A": "2", "GPU": "0"},
	}
	got := environ(task, &user.User{Username: "nobody"})
	want := []string{"A=2", "GPU=0", "HOME=/alloc/web", "LOGNAME=www", "PATH=/bin", "USER=nobody"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if task.Env["A"] != "1" {
		t.Error("Nomad's own map was written to")
	}
}

func TestEnviron_nothingGiven_stillHasAHome(t *testing.T) {
	got := environ(drivers.TaskConfig{Name: "web", AllocDir: "/alloc"}, &user.User{Username: "u"})
	if want := []string{"HOME=/alloc/web", "LOGNAME=u", "USER=u"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

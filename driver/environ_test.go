package driver

import (
	"maps"
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

func TestBehindRelay_whereNomadSaysToListen_isThePrivatePort(t *testing.T) {
	given := map[string]string{"NOMAD_ADDR_my_http": "10.0.0.1:80", "NOMAD_PORT_my_http": "80",
		"NOMAD_HOST_ADDR_my_http": "10.0.0.1:80", "NOMAD_ADDR_db": "10.0.0.1:81"}
	want := map[string]string{"NOMAD_ADDR_my_http": "127.0.0.1:${DOZE_PORT}",
		"NOMAD_PORT_my_http": "${DOZE_PORT}", "NOMAD_IP_my_http": "127.0.0.1",
		"NOMAD_HOST_ADDR_my_http": "10.0.0.1:80", "NOMAD_ADDR_db": "10.0.0.1:81"}
	if got := behindRelay(given, "my-http"); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	own := behindRelay(map[string]string{"NOMAD_ADDR_http": "0.0.0.0:$DOZE_PORT"}, "http")
	if got := own["NOMAD_ADDR_http"]; got != "0.0.0.0:$DOZE_PORT" {
		t.Errorf("the job's own address became %q", got)
	}
}

func TestWithPort_barePort_getsItsBraces(t *testing.T) {
	got := withPort([]string{"A=:$DOZE_PORT", "$DOZE_PORTS", "${DOZE_PORT}", "$DOZE_PORT/x"})
	want := []string{"A=:${DOZE_PORT}", "$DOZE_PORTS", "${DOZE_PORT}", "${DOZE_PORT}/x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

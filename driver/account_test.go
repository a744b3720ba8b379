package driver

import (
	"strings"
	"testing"
)

func TestAccountOf_root_needsTheAgentsLeave(t *testing.T) {
	cfg := AgentConfig{User: "nobody"}
	for _, name := range []string{"root", "0", "nobody:root", "nobody:0"} {
		_, err := accountOf(name, cfg)
		if err == nil || !strings.Contains(err.Error(), "allow_root") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	cfg.AllowRoot = true
	if as, err := accountOf("root", cfg); err != nil || as.ids() != "0" {
		t.Errorf("with allow_root: %v, %v", as, err)
	}
}

func TestAccountOf_namesAndNumbers_areTheSameIDs(t *testing.T) {
	for name, want := range map[string]string{"": "65534", "daemon": "1", "1": "1",
		"daemon:adm": "1:4", "1:4": "1:4"} {
		if as, err := accountOf(name, AgentConfig{User: "nobody"}); err != nil || as.ids() != want {
			t.Errorf("%q: got %s, %v; want %s", name, as.ids(), err, want)
		}
	}
}

func TestAccountOf_strangers_areNamed(t *testing.T) {
	for name, unknown := range map[string]string{"no-such-user": `user "no-such-user"`,
		"daemon:nogrp": `group "nogrp"`, "4000000:daemon": `user "4000000"`} {
		want := `cannot run the task as user "` + name + `": this node has no ` + unknown
		if _, err := accountOf(name, AgentConfig{}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

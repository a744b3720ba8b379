package shepherd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doze/driver/shepherd"
)

// What the kernel says of these is too little, or about something else.
func TestLaunch_programThatCannotStart_saysWhy(t *testing.T) {
	// the head of a program for an aarch64 machine, ELF64, little endian
	const foreign = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00\x01"
	for name, tc := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"not executable": {"#!/bin/sh\n", 0o644, `is not executable (mode 0644); chmod +x`},
		"empty":          {"", 0o755, "exec format error: it is empty, made for another kind"},
		"foreign":        {foreign, 0o755, "made for another kind of machine"},
		"no interpreter": {"#!/no/such/sh -e\n", 0o755, `asks for "/no/such/sh", which is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, "http")
			s.Command = "local/app" // an absolute path is told in the same words
			writeProgram(t, filepath.Join(s.Dir, "local", "app"), tc.content, tc.mode)
			_, err := shepherd.Launch(t.Context(), socketDir(t), s)
			if err == nil {
				t.Fatal("launched")
			}
			wantIn(t, err.Error(), tc.want)
			wantIn(t, err.Error(), s.Dir+"/local/app")
		})
	}
}

func TestLaunch_bareNameThatCannotStart_isNotSaidToBeMissing(t *testing.T) {
	s := spec(t, "http")
	s.Command = "app"
	writeProgram(t, filepath.Join(s.Dir, "local", "app"), "#!/bin/sh\n", 0o600)
	_, err := shepherd.Launch(t.Context(), socketDir(t), s)
	if err == nil {
		t.Fatal("launched")
	}
	wantIn(t, err.Error(), `local/app" is not executable`)
}

func TestLaunch_programClosedToItsUser_namesWhatIsInTheWay(t *testing.T) {
	asRoot(t)
	for name, tc := range map[string]struct {
		dir, program os.FileMode
		want         string
	}{
		"directory": {0o700, 0o755, `user 65534 may not pass through "%s" (mode 0700)`},
		"program":   {0o755, 0o750, `user 65534 may not execute it (mode 0750)`},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, "http")
			dir := filepath.Join(s.Dir, "closed")
			s.Command = filepath.Join(dir, "app")
			writeProgram(t, s.Command, "#!/bin/sh\n", tc.program)
			if err := os.Chmod(dir, tc.dir); err != nil {
				t.Fatal(err)
			}
			_, err := shepherd.Launch(t.Context(), socketDir(t), s)
			if err == nil {
				t.Fatal("launched")
			}
			wantIn(t, err.Error(), strings.ReplaceAll(tc.want, "%s", dir))
		})
	}
}

func writeProgram(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

package jobs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"doze/internal/realnomad"
	"doze/jobs"
)

func exampleFiles(t *testing.T) []jobs.File {
	t.Helper()
	paths, err := filepath.Glob("examples/*.nomad.hcl")
	if err != nil || len(paths) < 7 {
		t.Fatalf("found %d examples, %v", len(paths), err)
	}
	var files []jobs.File
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, jobs.File{Name: path, Source: src})
	}
	return files
}

// The examples are right, alone and all together, and every one but Doze's own job sleeps.
func TestCheckFiles_examples_areRight(t *testing.T) {
	files := exampleFiles(t)
	managed, wrong := jobs.CheckFiles(files)
	if len(wrong) > 0 {
		t.Error(wrong)
	}
	asleep := map[string]bool{}
	for _, m := range managed {
		asleep[m.ID.Job] = true
		if len(m.Policy.Routes) == 0 {
			t.Errorf("%s has no route", m.ID)
		}
	}
	for _, file := range files {
		job := strings.TrimSuffix(filepath.Base(file.Name), ".nomad.hcl")
		if asleep[job] == (job == "doze") {
			t.Errorf("%s: managed is %v", file.Name, asleep[job])
		}
	}
}

// One host in two files is told, once, of the later one.
func TestCheckFiles_hostInTwoFiles_isTold(t *testing.T) {
	files := exampleFiles(t)
	again := files[len(files)-1]
	again.Name = "again.hcl"
	again.Source = []byte(strings.ReplaceAll(string(again.Source), `job "`, `job "again-`))
	_, wrong := jobs.CheckFiles(append(files, again))
	if len(wrong) != 1 || !strings.HasPrefix(wrong[0].Pos, "again.hcl:") ||
		!strings.Contains(wrong[0].Problem, "is claimed by default/slow/web, too") {
		t.Errorf("got %v", wrong)
	}
}

// Where a nomad program is at hand, it reads the examples the way this package does.
func TestCheckFile_examples_areReadAsNomadReadsThem(t *testing.T) {
	program, err := realnomad.Program()
	if errors.Is(err, realnomad.ErrNotFound) {
		t.Skip("LOUD: no nomad program on PATH, so its reading cannot be compared")
	}
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"testdata/check/whole.nomad.hcl"}
	for _, file := range exampleFiles(t) {
		paths = append(paths, file.Name)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			read, err := exec.CommandContext(t.Context(), program, "job", "run", "-output",
				path).Output()
			if err != nil {
				t.Fatal(err)
			}
			ours, wrong := jobs.CheckFile(path, src)
			theirs, alsoWrong := jobs.CheckFile(path, read)
			if len(wrong)+len(alsoWrong) > 0 {
				t.Fatalf("ours: %v\nnomad's: %v", wrong, alsoWrong)
			}
			compare(t, ours, theirs)
		})
	}
}

func compare(t *testing.T, ours, theirs []jobs.Managed) {
	t.Helper()
	for i := range ours {
		ours[i].Pos = ""
	}
	for i := range theirs {
		theirs[i].Pos = ""
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("ours\n%+v\nnomad's\n%+v", ours, theirs)
	}
}

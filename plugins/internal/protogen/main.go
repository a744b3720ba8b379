// Command protogen writes the Go code of plugins/proto anew, with protoc and the
// generators that go.mod pins. It runs in plugins/proto, by go generate.
//
// Without protoc it says so and leaves the files as they are: they are committed.
//
// `protogen list nomad.pb` writes down what a descriptor set of Nomad's own .proto files
// says, for plugins/proto/testdata.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// generators are tools of go.mod, under the names by which protoc knows them.
var generators = []struct{ name, pkg string }{
	{"protoc-gen-go", "google.golang.org/protobuf/cmd/protoc-gen-go"},
	{"protoc-gen-go-grpc", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"},
}

// protocVersion is the line of a generated file that says which protoc ran; the
// code does not depend on it.
var protocVersion = regexp.MustCompile(`(?m)^// (- |\t)protoc +v.*\n`)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "list" {
		exit(list(os.Args[2], os.Stdout))
	}
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		fmt.Fprintln(os.Stderr, "NOTE: protoc is not on PATH: "+
			"the generated files of plugins/proto stay as they are")
		return
	}
	exit(generate(protoc))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func generate(protoc string) (err error) {
	tools, err := os.MkdirTemp("", "protogen-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the generators: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tools)) }()
	args := []string{"-I=.", "--go_out=.", "--go_opt=paths=source_relative",
		"--go-grpc_out=.", "--go-grpc_opt=paths=source_relative"}
	for _, g := range generators {
		path := filepath.Join(tools, g.name)
		if err := run("go", "build", "-o", path, g.pkg); err != nil {
			return err
		}
		args = append(args, "--plugin="+g.name+"="+path)
	}
	files, err := filepath.Glob("*/*.proto")
	if err != nil {
		return err // a malformed pattern: never
	}
	if len(files) == 0 {
		return fmt.Errorf("found no .proto file: %w", fs.ErrNotExist)
	}
	if err := run(protoc, append(args, files...)...); err != nil {
		return err
	}
	return dropVersions()
}

func dropVersions() error {
	files, err := filepath.Glob("*/*.pb.go")
	if err != nil {
		return err // a malformed pattern: never
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", file, err)
		}
		code = protocVersion.ReplaceAll(code, nil)
		if err := os.WriteFile(file, code, 0o644); err != nil {
			return fmt.Errorf("cannot write %q: %w", file, err)
		}
	}
	return nil
}

func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot run %s: %w", filepath.Base(name), err)
	}
	return nil
}

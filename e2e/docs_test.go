//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// docBlock is a piece of HCL in the documentation.
type docBlock struct {
	file string
	line int
	kind string // its first block's
	text string
}

func (b docBlock) where() string { return fmt.Sprintf("%s line %d", filepath.Base(b.file), b.line) }

// frames are what stands around a block of the kind in a job; kinds that are in none are not
// here.
func frames() map[string]string {
	const (
		group = "job \"doc\" {\n group \"web\" {\n network {\n port \"http\" {}\n }\n%s\n }\n}\n"
		task  = "task \"app\" {\n driver = \"doze\"\n%s\n}"
	)
	return map[string]string{
		"job":     "%s\n",
		"group":   "job \"doc\" {\n%s\n}\n",
		"service": fmt.Sprintf(group, "%s\ntask \"app\" {\n driver = \"raw_exec\"\n}"),
		"task":    group,
		"logs":    fmt.Sprintf(group, task),
		"config":  fmt.Sprintf(group, task),
	}
}

// docBlocks are those of a kind; "": of all.
func docBlocks(t testing.TB, kind string) (blocks []docBlock) {
	t.Helper()
	files, err := filepath.Glob("../docs/*.md")
	fail(t, err)
	for _, file := range append(files, "../README.md") {
		var block *docBlock
		for i, line := range readLines(file) {
			switch fence := strings.TrimSpace(line); {
			case block == nil && fence == "```hcl":
				block = &docBlock{file: file, line: i + 1}
			case block != nil && fence == "```":
				block.kind = kindOf(block.text)
				if kind == "" || kind == block.kind {
					blocks = append(blocks, *block)
				}
				block = nil
			case block != nil:
				block.text += line + "\n"
			}
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("the documentation has no block %q", kind)
	}
	return blocks
}

// kindOf is the name of the first block that a piece of HCL has.
func kindOf(text string) string {
	return regexp.MustCompile(`(?m)^\s*(\w+).*\{`).FindStringSubmatch(text + "\nnothing {")[1]
}

// What the documentation shows of jobs is what Nomad takes, and where it is Doze's, Doze.
func TestDocs_jobs_areTaken(t *testing.T) {
	c := sharedNomad(t)
	for _, block := range docBlocks(t, "") {
		frame, isJob := frames()[block.kind]
		if block.kind == "plugin" {
			continue // see TestDriver_installedAsDocumented_works
		}
		t.Run(block.where(), func(t *testing.T) {
			if !isJob {
				t.Fatalf("nobody knows where a block %q belongs", block.kind)
			}
			checkJob(t, c, fmt.Sprintf(frame, block.text))
		})
	}
}

// checkJob has Nomad read a job and judge it, and Doze its policies.
func checkJob(t *testing.T, c *cluster, source string) {
	t.Helper()
	job := c.parse(t, source)
	for _, group := range job.TaskGroups {
		if len(group.Tasks) == 0 { // they are as ever, and left out
			group.Tasks = []*nomad.Task{{Name: "app"}}
		}
		for _, task := range group.Tasks {
			if task.Driver == "" {
				task.Driver = "raw_exec"
			}
		}
	}
	verdict, _, err := c.client.Jobs().Validate(job, c.write())
	fail(t, err)
	if verdict.Error != "" {
		t.Errorf("Nomad says %s", verdict.Error)
	}
	path := filepath.Join(t.TempDir(), "doc.nomad.hcl")
	fail(t, os.WriteFile(path, []byte(source), 0o600))
	if out, err := exec.Command(binary, "check", path).CombinedOutput(); err != nil {
		t.Errorf("doze check: %v: %s", err, out)
	}
}

func (c *cluster) parse(t testing.TB, source string) *nomad.Job {
	t.Helper()
	job, err := c.client.Jobs().ParseHCLOpts(&nomad.JobsParseRequest{JobHCL: source})
	if err != nil {
		t.Fatalf("cannot parse %s\n%v", source, err)
	}
	return job
}

// testDocs: every task of the documentation that is the driver's runs as it is shown, but for
// its program, which is that of the tests.
func testDocs(t *testing.T, d *driven) {
	tasks := 0
	for i, block := range docBlocks(t, "") {
		frame, isJob := frames()[block.kind]
		if !isJob {
			continue
		}
		shown := d.parse(t, fmt.Sprintf(frame, block.text))
		for _, task := range shown.TaskGroups[0].Tasks {
			if task.Driver != "doze" {
				continue
			}
			tasks++
			task.SetConfig("command", d.app)
			task.Env = map[string]string{"E2E_APP": "driven"}
			job := drivenJob{id: fmt.Sprintf("doc-%d", i), edit: func(job *nomad.Job) {
				job.TaskGroups[0].Networks = shown.TaskGroups[0].Networks
				task.Name, task.Resources = "app", job.TaskGroups[0].Tasks[0].Resources
				job.TaskGroups[0].Tasks = []*nomad.Task{task}
			}}
			t.Run(block.where(), func(t *testing.T) {
				t.Parallel()
				d.in(t).testDoc(job, task.Config["listen"] != nil)
			})
		}
	}
	if tasks < 2 {
		t.Errorf("the documentation shows %d tasks of the driver", tasks)
	}
}

func (d *driven) testDoc(job drivenJob, listens bool) {
	d.t.Helper()
	d.run(job)
	if listens {
		d.whoAnswers(job.id)
	}
}

package devnomad

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// serveLogs serves GET /v1/client/fs/logs/:id?task=&type=&plain=: all there is, from the
// oldest file on, without following; in one frame where plain is not asked for.
func (c *Cluster) serveLogs(w http.ResponseWriter, r *http.Request) (any, error) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/client/fs/logs/")
	if _, err := c.allocFor(r, id, "read-logs"); err != nil {
		return nil, err
	}
	plain, err := boolParam(r, "plain")
	if err != nil {
		return nil, err
	}
	files, err := c.logsOf(id, r.URL.Query().Get("task"), r.URL.Query().Get("type"))
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) { // it may have been rotated away
			return nil, fmt.Errorf("cannot read log: %w", err)
		}
		all = append(all, text...)
	}
	if !plain {
		newest := files[len(files)-1]
		return nomad.StreamFrame{Data: all, File: "alloc/logs/" + filepath.Base(newest)}, nil
	}
	w.Header().Set("Content-Type", "text/plain")
	c.write(w, all)
	return nil, nil
}

// logsOf are the files of a task's log, of which there is at least one, the oldest first. A
// driver may have written them itself.
func (c *Cluster) logsOf(id, task, kind string) ([]string, error) {
	run := c.client.run(id)
	if run == nil || run.tasks[task] == nil {
		return nil, fail(http.StatusNotFound, "task %q not started yet. No logs available", task)
	}
	if kind != "stdout" && kind != "stderr" {
		return nil, fail(http.StatusBadRequest, "Must provide log type (stdout/stderr)")
	}
	prefix := filepath.Join(run.dir(), "alloc", "logs", task+"."+kind+".")
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return nil, fmt.Errorf("cannot list logs: %w", err)
	}
	var indices []int
	for _, entry := range entries {
		text, ours := strings.CutPrefix(entry.Name(), filepath.Base(prefix))
		if index, err := strconv.Atoi(text); ours && err == nil && !entry.IsDir() {
			indices = append(indices, index)
		}
	}
	if len(indices) == 0 {
		return nil, fail(http.StatusNotFound, "log entry for task %q and log type %q not found",
			task, kind)
	}
	slices.Sort(indices)
	files := make([]string, len(indices))
	for i, index := range indices {
		files[i] = prefix + strconv.Itoa(index)
	}
	return files, nil
}

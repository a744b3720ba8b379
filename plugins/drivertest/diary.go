package drivertest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// diaryKept is how much of a plugin's log is kept, in bytes: the end of it.
const diaryKept = 16 << 10

// diary is the end of what a plugin logs, and of a panic of its. It is shown where a test
// fails.
type diary struct {
	mu   sync.Mutex
	text []byte
}

func newDiary(t *testing.T) *diary {
	d := &diary{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the plugin's log:\n%s", d.read())
		}
	})
	return d
}

func (d *diary) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: d})
}

// Write implements io.Writer.
func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = append(d.text, p...)
	d.text = d.text[max(0, len(d.text)-diaryKept):]
	return len(p), nil
}

func (d *diary) read() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.text)
}

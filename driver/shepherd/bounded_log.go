package shepherd

import (
	"os"
	"sync"
)

// maxLog is how large a shepherd's log may grow before it begins anew, in bytes.
const maxLog = 256 << 10

// boundedLog writes to a file that is open for appending, and empties it when it is full: a
// task may sleep and wake for years.
type boundedLog struct {
	file *os.File

	mu   sync.Mutex
	size int
}

// Write implements io.Writer.
func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size += len(p); l.size > maxLog {
		l.size = len(p)
		_ = l.file.Truncate(0) // what is no file can't be emptied, and does not grow
	}
	return l.file.Write(p)
}

package shepherd

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"syscall"
)

// wholeLine is how long a line may be, in bytes, that is never divided between two files.
const wholeLine = 32 << 10

// logFile is one log: it is written to the newest of its files, up to the limit, and then
// to the next one.
type logFile struct {
	where  LogFiles
	prefix string // of its files' names
	log    *slog.Logger

	newest  *os.File // nil: not opened yet, or somebody has removed it
	midLine bool     // what was written last was not a whole line
}

// Write implements io.Writer. After an error it can be called again, which looks for
// everything anew.
func (l *logFile) Write(text []byte) (int, error) {
	written := 0
	for written < len(text) {
		room, err := l.room()
		if err != nil {
			return written, err
		}
		fits := l.fitting(text[written:], room)
		if fits == 0 {
			if err := l.inFolder(l.begin); err != nil {
				return written, err
			}
			continue
		}
		n, err := l.newest.Write(text[written : written+fits])
		written += n
		if n > 0 {
			l.midLine = text[written-1] != '\n'
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// fitting is how much of text belongs to the newest file: a file ends with a line, where
// the lines are not too long for that.
func (l *logFile) fitting(text []byte, room int64) int {
	if int64(len(text))+wholeLine <= room {
		return len(text)
	}
	head := text[:min(int64(len(text)), max(room, 0))]
	if end := bytes.LastIndexByte(head, '\n') + 1; end > 0 {
		return end
	}
	if !l.midLine && room < l.where.MaxSize {
		return 0
	}
	return len(head)
}

// room is how much may still be written to the newest file, in bytes. Others may write to
// it, cut it or remove it, so it is asked every time.
func (l *logFile) room() (int64, error) {
	var st syscall.Stat_t
	if l.newest != nil {
		if err := syscall.Fstat(int(l.newest.Fd()), &st); err != nil {
			return 0, err
		}
		if st.Nlink > 0 {
			return l.where.MaxSize - st.Size, nil
		}
		l.replace(nil)
	}
	if err := l.inFolder(l.reopen); err != nil {
		return 0, err
	}
	err := syscall.Fstat(int(l.newest.Fd()), &st)
	return l.where.MaxSize - st.Size, err
}

// reopen goes on with the newest file there is, or begins the first.
func (l *logFile) reopen(folder *logFolder, indices []int) error {
	if len(indices) == 0 {
		return l.begin(folder, indices)
	}
	file, err := folder.open(indices[len(indices)-1])
	switch {
	case errors.Is(err, errNotOurs):
		return l.begin(folder, indices)
	case err != nil:
		return err
	}
	l.replace(file)
	return nil
}

// begin begins the file after those with the indices, of which the oldest have to go then.
func (l *logFile) begin(folder *logFolder, indices []int) error {
	index := 0
	if len(indices) > 0 {
		index = indices[len(indices)-1] + 1
	}
	file, err := folder.create(index)
	if err != nil {
		return err
	}
	l.replace(file)
	if err := folder.prune(append(indices, index), l.where.MaxFiles); err != nil {
		l.log.Warn("this log takes more room than it may", "err", err)
	}
	return nil
}

// inFolder calls do with the directory and with what it holds of this log.
func (l *logFile) inFolder(do func(*logFolder, []int) error) error {
	folder, err := openLogFolder(l.where.Dir, l.prefix)
	if err != nil {
		return err
	}
	defer folder.close()
	indices, err := folder.indices()
	if err != nil {
		return err
	}
	return do(folder, indices)
}

func (l *logFile) replace(file *os.File) {
	if l.newest != nil {
		_ = l.newest.Close() // what was written has been written
	}
	l.newest, l.midLine = file, false
}

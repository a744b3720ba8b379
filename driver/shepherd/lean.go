package shepherd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"doze/driver/shepherd/relay"
)

const (
	// quietAfter is how long after an event memory is given back: not while a wake may follow
	// on the heels of a sleep.
	quietAfter = time.Second
	// programShare is how much of the program stays in memory, in bytes. What sleeps, wakes
	// and connections need of it is less; starting needs five times as much, once.
	programShare = 3 << 20
	// gcPercent lets the heap grow to 2 MiB before there is a collection. Less would be no
	// saving: the first one costs 0.7 MiB for good, a page of Go's own for each size of object.
	gcPercent = 50
	// garbage is how much more heap than once is worth a collection at once, in bytes, and
	// perConn what each open connection may take besides.
	garbage = 512 << 10
	perConn = 1 << 10
)

// lean keeps this process small: it gives back what it has no use for, some time after
// something has happened.
type lean struct {
	program   []pages       // the parts of the program that are never written to
	heap      uint64        // the least that there was of it; run's alone, as is
	own       bool          // the next collection is one of its own
	conns     atomic.Int64  // that are relayed
	happened  chan struct{} // holds one token, as does
	collected chan struct{}
	log       *slog.Logger
}

func newLean(log *slog.Logger) *lean {
	l := &lean{happened: make(chan struct{}, 1), collected: make(chan struct{}, 1), log: log}
	var err error
	if l.program, err = programPages(); err == nil {
		err = mapSingly(l.program)
	}
	if err != nil {
		l.log.Info("this shepherd holds more of its program than it needs", "err", err)
	}
	return l
}

// run lives until ctx ends. What starting has left behind goes first.
func (l *lean) run(ctx context.Context) error {
	l.awaitCollection()
	l.shed()
	var quiet <-chan time.Time // nil: nothing has happened
	for {
		select {
		case <-quiet:
			quiet = nil
			l.shed()
			continue
		case <-l.happened:
		case <-l.collected:
			l.dropProgram()
			if l.own { // what it has left is no garbage: another one would find nothing
				l.own = false
				continue
			}
		case <-ctx.Done():
			return nil
		}
		if quiet == nil {
			quiet = time.After(quietAfter)
		}
	}
}

// awaitCollection tells run of the next collection, and of those that follow: each touches
// half a MiB of the program that nothing else has much use for.
func (l *lean) awaitCollection() {
	runtime.AddCleanup(&struct{ *lean }{l}, func(l *lean) {
		put(l.collected)
		l.awaitCollection()
	}, l)
}

// soon has memory given back before long.
func (l *lean) soon() { put(l.happened) }

func put(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default: // it is there
	}
}

// enter and leave tell of every connection that is relayed.
func (l *lean) enter() {
	if n := l.conns.Add(1); procs(n) != procs(n-1) {
		l.spread()
	}
	l.soon()
}

func (l *lean) leave() {
	l.conns.Add(-1)
	l.soon()
}

// spread uses as many CPUs as there is work for, also when that changes meanwhile.
func (l *lean) spread() {
	for n := procs(l.conns.Load()); runtime.GOMAXPROCS(0) != n; n = procs(l.conns.Load()) {
		runtime.GOMAXPROCS(n)
	}
}

// procs is how many of Go's processors so many connections need. Go keeps half a MiB for each,
// so it is one as long as that will do. Where there are more there is one to spare: else each
// loop that waits for an event is taken its own by the runtime, and has to look for it again.
func procs(conns int64) int {
	if loops := relay.Loops(int(conns)); loops > 1 {
		return loops + 1
	}
	return 1
}

// shed gives back CPUs, garbage and pages of the program: each may make more of the next.
func (l *lean) shed() {
	l.spread()
	l.collect()
	l.dropProgram()
}

// collect collects garbage where that is worth it.
func (l *lean) collect() {
	held := heldOfHeap()
	if l.heap == 0 || held < l.heap {
		l.heap = held
	}
	if held > l.heap+garbage+perConn*uint64(l.conns.Load()) {
		l.own = true
		debug.FreeOSMemory()
	}
}

// dropProgram gives back what is too much of the program.
func (l *lean) dropProgram() {
	held, err := heldOfFiles()
	if err == nil && held > programShare {
		for _, p := range l.program {
			err = errors.Join(err, p.drop())
		}
	}
	if err != nil {
		l.log.Warn("this shepherd is larger than it should be", "err", err)
	}
}

// heldOfHeap is how much memory heap and stacks take up, in bytes.
func heldOfHeap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased + m.StackInuse
}

// heldOfFiles is how much of the files that this process has mapped, which is the program,
// is in its memory, in bytes (proc_pid_statm(5)).
func heldOfFiles() (int, error) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err == nil && len(fields) < 3 {
		err = fmt.Errorf("statm reads %q", text)
	}
	n := 0
	if err == nil {
		n, err = strconv.Atoi(fields[2])
	}
	if err != nil {
		return 0, fmt.Errorf("cannot see how large this process is: %w", err)
	}
	return n * os.Getpagesize(), nil
}

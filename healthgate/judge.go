package healthgate

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// JudgeConfig says how a Judge judges. The zero value is usable: it never finds Hung.
type JudgeConfig struct {
	// Concurrency is how many targets are probed at once; default 128.
	Concurrency int
	// Checks is how many runs in a row may find a target Busy; the last of them finds it
	// Hung instead. 0: any number.
	Checks int
	// Grace is how long, within one run, a busy target is asked again before it is Hung.
	// One that does answer within Grace, but not within its Timeout, stays Busy. 0: every
	// target is asked once.
	Grace time.Duration
}

// Subject is one target to judge.
type Subject struct {
	Addr  string
	Probe ProbeConfig
}

// Finding is what a Judge has found out about one subject.
type Finding struct {
	Subject
	Verdict Verdict
	Err     error         // nil when Up
	Took    time.Duration // from the first probe's start to the verdict
}

// Judge judges many targets at once, so that a run takes as long as its slowest target, not
// as long as all of them. It keeps counts between runs in memory and nothing on disk. It is
// safe for concurrent use; a target left out of a run starts afresh in the next.
type Judge struct {
	cfg  JudgeConfig
	mu   sync.Mutex
	busy map[string]int // runs in a row that found the subject busy, by Subject.key
}

// NewJudge returns a Judge that has seen nothing yet.
func NewJudge(cfg JudgeConfig) *Judge {
	cfg.Concurrency = cmp.Or(max(cfg.Concurrency, 0), 128)
	return &Judge{cfg: cfg}
}

// Run judges every subject once, however often it is named (Dial does not tell two apart),
// in the order in which they are first named. A subject whose probe died, was never sent,
// or cannot be made is Unknown: nothing is taken for Up that has not answered.
func (j *Judge) Run(ctx context.Context, subjects []Subject) []Finding {
	keys, findings := distinct(subjects)
	places := NewLimiter(j.cfg.Concurrency)
	var running sync.WaitGroup
	for i := range findings {
		f := &findings[i]
		if err := places.enter(ctx); err != nil {
			f.Err = err
			continue
		}
		running.Go(func() {
			defer places.leave()
			j.examine(ctx, f)
		})
	}
	running.Wait()
	j.count(keys, findings)
	return findings
}

// distinct returns a finding for each subject that is not a repetition. Until its probe has
// said something it is Unknown.
func distinct(subjects []Subject) (keys []string, findings []Finding) {
	seen := make(map[string]bool, len(subjects))
	for _, s := range subjects {
		key := s.key()
		if seen[key] {
			continue
		}
		seen[key] = true
		keys = append(keys, key)
		findings = append(findings, Finding{Subject: s, Verdict: Unknown, Err: errDied})
	}
	return keys, findings
}

func (s Subject) key() string {
	c := s.Probe.withDefaults()
	c.Dial = nil
	return fmt.Sprintf("%s %#v", s.Addr, c)
}

// examine asks f's target, and a busy one again for as long as Grace allows. Its timeout
// grows meanwhile, to tell a target that answers late from one that does not answer.
func (j *Judge) examine(ctx context.Context, f *Finding) {
	probe, err := f.Probe.New()
	if err != nil {
		f.Err = err
		return
	}
	start, pace := time.Now(), newPace(f.Probe.withDefaults())
	pace.begin(start)
	for {
		timeout := max(pace.least, min(pace.timeout, j.cfg.Grace-f.Took))
		asked := time.Now()
		err := ask(ctx, probe, f.Addr, timeout)
		now := time.Now()
		f.Verdict, f.Err, f.Took = VerdictOf(err), err, now.Sub(start)
		if took := now.Sub(asked); err == nil && took > pace.least {
			f.Verdict = Busy
			f.Err = rejected("answered after %s, not within %s", took, pace.least)
			return
		}
		if isLate(err) {
			pace.late()
		}
		if f.Verdict != Busy || !j.again(ctx, f, pace.next(now)) {
			return
		}
	}
}

// again waits until a busy target is to be asked again, and reports false when it is not:
// its grace is over and it is Hung, there is none, or ctx has ended.
func (j *Judge) again(ctx context.Context, f *Finding, pause time.Duration) bool {
	left := j.cfg.Grace - f.Took
	if j.cfg.Grace > 0 && left <= 0 {
		f.Verdict = Hung
	}
	return left > 0 && pauseFor(ctx, min(pause, left))
}

// pauseFor reports whether d has passed; otherwise ctx has ended.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// count turns what is busy for too many runs into Hung. A probe that died says nothing
// about its target, so it leaves the count as it was.
func (j *Judge) count(keys []string, findings []Finding) {
	j.mu.Lock()
	defer j.mu.Unlock()
	busy := make(map[string]int)
	for i, key := range keys {
		switch findings[i].Verdict {
		case Busy, Hung:
			busy[key] = j.busy[key] + 1
		case Unknown:
			busy[key] = j.busy[key]
		}
		if j.cfg.Checks > 0 && findings[i].Verdict == Busy && busy[key] >= j.cfg.Checks {
			findings[i].Verdict = Hung
		}
	}
	j.busy = busy
}

// Worst returns the worst verdict of all; of none, Unknown.
func Worst(findings []Finding) Verdict {
	if len(findings) == 0 {
		return Unknown
	}
	worst := Up
	for _, f := range findings {
		worst = max(worst, f.Verdict)
	}
	return worst
}

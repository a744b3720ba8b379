package plugins_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

// A stream that ends makes an agent ask again, after 5 s at first, and call the
// driver unhealthy in the case of fingerprints.
func TestStreams_driverHasNothingMoreToTell_stayOpen(t *testing.T) {
	probe, mute := serving(t, "probe"), serving(t, "mute")
	var fingerprints []drivers.Fingerprint
	streams := map[string]func(context.Context) error{
		"fingerprint": func(ctx context.Context) error {
			return probe.Fingerprint(ctx, func(f drivers.Fingerprint) error {
				fingerprints = append(fingerprints, f)
				return nil
			})
		},
		"events": func(ctx context.Context) error {
			return mute.Events(ctx, func(drivers.Event) error { return nil })
		},
		// An error would be logged by the agent every second, for each task.
		"stats": func(ctx context.Context) error {
			return mute.Stats(ctx, "x", time.Second, func(drivers.Stats) error { return nil })
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var open sync.WaitGroup
	for name, run := range streams {
		open.Go(func() {
			if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the %s stream ended with %v", name, err)
			}
		})
	}
	open.Wait()
	if len(fingerprints) != 1 {
		t.Fatalf("there were %d fingerprints", len(fingerprints))
	}
	f := fingerprints[0]
	if f.Health != drivers.Unhealthy || f.Reason != "it is a probe" ||
		f.Attributes["driver.probe.text"] != drivers.Text("x") ||
		f.Attributes["driver.probe.flag"] != drivers.Flag(true) ||
		f.Attributes["driver.probe.whole"] != drivers.Whole(5, "MiB") ||
		f.Attributes["driver.probe.decimal"] != drivers.Decimal(0.5, "") {
		t.Errorf("the fingerprint is %+v", f)
	}
}

func TestStats_taskHasEnded_endsTheStreamWithoutError(t *testing.T) {
	err := serving(t, "probe").Stats(t.Context(), "ended", time.Second,
		func(drivers.Stats) error { return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestExecStream_heartbeatsInputAndItsEnd_reachTheCommand(t *testing.T) {
	stream, err := serving(t, "probe").Driver().ExecTaskStreaming(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stdin := func(data string, end bool) *driverpb.ExecTaskStreamingRequest {
		return &driverpb.ExecTaskStreamingRequest{
			Stdin: &driverpb.ExecTaskStreamingIOOperation{Data: []byte(data), Close: end}}
	}
	for _, msg := range []*driverpb.ExecTaskStreamingRequest{
		{Setup: &driverpb.ExecTaskStreamingRequest_Setup{TaskId: "x", Command: []string{"cat"}}},
		{}, stdin("one\n", false), {}, stdin("two\n", false), stdin("", true), {},
	} {
		if err := stream.Send(msg); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr strings.Builder
	var last *driverpb.ExecTaskStreamingResponse
	closed := 0
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		stdout.Write(msg.GetStdout().GetData())
		stderr.Write(msg.GetStderr().GetData())
		if msg.GetStdout().GetClose() || msg.GetStderr().GetClose() {
			closed++
		}
		last = msg
	}
	if stdout.String() != "got one\ngot two\n" || stderr.String() != "bye" || closed != 2 {
		t.Errorf("it wrote %q and %q, and closed %d of 2", stdout.String(), stderr.String(), closed)
	}
	if !last.GetExited() || last.GetResult().GetExitCode() != 3 {
		t.Errorf("the last message is %v", last)
	}
}

func TestExecStream_firstMessageIsNoSetup_isAnError(t *testing.T) {
	stream, err := serving(t, "probe").Driver().ExecTaskStreaming(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&driverpb.ExecTaskStreamingRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("it returned %v", err)
	}
}

func TestExecStream_ttyAndSize_reachTheCommand(t *testing.T) {
	var out strings.Builder
	sizes := make(chan drivers.TerminalSize, 1)
	sizes <- drivers.TerminalSize{Width: 120, Height: 40}
	stdin, hold := io.Pipe() // nobody types
	defer hold.Close()
	r, err := serving(t, "probe").ExecStream(t.Context(), "x", drivers.Session{
		Command: []string{"size"}, TTY: true, Stdin: stdin, Stdout: &out, Resize: sizes})
	if err != nil || r.Code != 0 || out.String() != "120x40 tty=true" {
		t.Errorf("it returned %+v, %v and wrote %q", r, err, out.String())
	}
}

func TestExecStream_moreThanAMessageHolds_comesInChunks(t *testing.T) {
	var out countingWriter
	r, err := serving(t, "probe").ExecStream(t.Context(), "x",
		drivers.Session{Command: []string{"pour"}, Stdout: &out})
	if err != nil || r.Code != 0 || out.sum != 5<<20 || out.most > 32<<10 {
		t.Errorf("it returned %+v, %v after %d bytes, at most %d at once", r, err, out.sum, out.most)
	}
}

type countingWriter struct{ sum, most int }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.sum += len(p)
	w.most = max(w.most, len(p))
	return len(p), nil
}

func TestExecStream_callerLeaves_endsTheCommand(t *testing.T) {
	p := serving(t, "probe")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := p.ExecStream(ctx, "x", drivers.Session{Command: []string{"hang"}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it returned %v", err)
	}
	if e := firstEvent(t, p); e.Message != "the caller has left" {
		t.Errorf("the driver has said %+v", e)
	}
}

func TestExec_scriptCheck_usesTheSameExecWithATimeout(t *testing.T) {
	p, ctx := serving(t, "probe"), t.Context()
	out, err := p.Exec(ctx, "x", []string{"cat"}, time.Second)
	if err != nil || out.Exit.Code != 3 || len(out.Stdout) != 0 || string(out.Stderr) != "bye" {
		t.Errorf("it returned %+v, %v", out, err)
	}
	if out, err = p.Exec(ctx, "x", []string{"pour"}, time.Second); err != nil || len(out.Stdout) != 1<<20 {
		t.Errorf("of 5 MiB of output came %d bytes, %v", len(out.Stdout), err)
	}
	if _, err = p.Exec(ctx, "x", []string{"hang"}, 50*time.Millisecond); err == nil {
		t.Error("a command that hangs had no error")
	}
	if _, err = p.Exec(ctx, "x", []string{"missing"}, 0); err == nil ||
		!strings.Contains(err.Error(), "there is no such command") {
		t.Errorf("a command that cannot run returned %v", err)
	}
	if _, err = p.Exec(ctx, "x", nil, 0); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no command returned %v", err)
	}
}

func TestSignal_anyText_reachesTheDriver(t *testing.T) {
	err := serving(t, "probe").Signal(t.Context(), "x", "doze:freeze")
	if err == nil || !strings.Contains(err.Error(), `there is no signal "doze:freeze"`) {
		t.Errorf("it returned %v", err)
	}
}

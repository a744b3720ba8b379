package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"doze/healthgate"
)

// A request waits at the gate until a target of this wake has answered.
func ExampleGate() {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "ok")
	}))
	defer app.Close()

	gate, err := healthgate.NewGate(healthgate.GateConfig{
		Probe: healthgate.ProbeConfig{Kind: "http", Path: "/healthz"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()

	place := gate.Waiter() // before the wake is asked for, so nothing can be missed
	gate.Arm(1)
	gate.Update(1, []healthgate.Target{{ID: "alloc-1", Addr: app.Listener.Addr().String()}})

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println("wait:", place.Wait(ctx))
	fmt.Println("goes to:", gate.Pick().ID)

	gate.Shut() // asleep again
	fmt.Println("asleep:", gate.Pick() == nil)
	// Output:
	// wait: <nil>
	// goes to: alloc-1
	// asleep: true
}

// A wait that ends without a target says what the last probe has found.
func ExampleWaiter_Wait() {
	gate, err := healthgate.NewGate(healthgate.GateConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()
	gate.Arm(1)

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("client left"))
	fmt.Println(gate.Waiter().Wait(ctx))
	// Output: no target to probe yet: client left
}

func ExampleProbeConfig_New() {
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer starting.Close()

	probe, err := healthgate.ProbeConfig{Kind: "http", Statuses: "200-299"}.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = probe.Probe(ctx, starting.Listener.Addr().String())
	fmt.Printf("%s: %v\n", healthgate.VerdictOf(err), err)
	// Output: busy: answered 503, not one of 200-299
}

func ExampleProbeConfig_Validate() {
	fmt.Println(healthgate.ProbeConfig{Kind: "http", Path: "healthz", Statuses: "2xx", Rise: -1}.Validate())
	// Output:
	// path: "healthz" must begin with "/"
	// statuses: "2xx" is not a status between 100 and 599; write e.g. "200,300-399"
	// rise: -1 is negative
}

func ExampleJudge() {
	app := httptest.NewServer(http.NotFoundHandler())
	defer app.Close()

	var subjects []healthgate.Subject
	for _, url := range []string{app.URL, "tcp://" + app.Listener.Addr().String()} {
		addr, probe, err := healthgate.ParseProbeURL(url)
		if err != nil {
			fmt.Println(err)
			return
		}
		subjects = append(subjects, healthgate.Subject{Addr: addr, Probe: probe})
	}
	judge := healthgate.NewJudge(healthgate.JudgeConfig{})
	findings := judge.Run(context.Background(), subjects)
	for _, f := range findings {
		fmt.Println(f.Probe.Kind, f.Verdict, f.Err)
	}
	fmt.Println("exit status:", int(healthgate.Worst(findings)))
	// Output:
	// http busy answered 404, not one of 200-399
	// tcp up <nil>
	// exit status: 1
}

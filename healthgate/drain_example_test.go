package healthgate_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"doze/healthgate"
)

func ExampleDrain() {
	health, err := healthgate.NewHealth(healthgate.HealthConfig{Enabled: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sockets healthgate.Upgraded // the WebSocket handler calls sockets.Track
	drain, err := healthgate.NewDrain(healthgate.DrainConfig{
		Delay:    time.Millisecond, // in earnest: one period of whoever probes readiness
		Timeout:  10 * time.Second, // below the platform's own limit
		Health:   health,
		Servers:  []healthgate.DrainServer{&http.Server{Handler: health}},
		Upgraded: &sockets,
		Components: []healthgate.DrainPart{
			{Name: "database", Stop: func(context.Context) error { return nil }},
		},
		OnStep: func(e healthgate.DrainEvent) { fmt.Println(e.Step, e.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	health.Start()

	// On the first SIGTERM. In earnest the context is signal.NotifyContext's, so that a
	// second signal cuts the shutdown short.
	if err := drain.Run(context.Background()); err != nil {
		fmt.Println("not everything came to its own end:", err)
	}
	// Output:
	// readiness <nil>
	// delay <nil>
	// requests <nil>
	// background <nil>
	// components <nil>
}

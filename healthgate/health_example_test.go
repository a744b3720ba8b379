package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"doze/healthgate"
)

func ExampleHealth() {
	database := errors.New("connection refused")
	health, err := healthgate.NewHealth(healthgate.HealthConfig{
		Enabled: true,
		Checks: []healthgate.Check{
			{Name: "database", Check: func(context.Context) error { return database }},
		},
		CacheInterval: -1, // so that the example sees the change; 1s is the default
	})
	if err != nil {
		fmt.Println(err) // every problem at once
		return
	}
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	handler := health.Wrap(app) // outside of everything else
	ask := func(path string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, w.Code, w.Body)
	}

	health.Start() // once what the process needs is up
	ask("/livez")
	ask("/readyz")
	database = nil
	ask("/readyz")
	health.Drain() // the process is about to go
	ask("/readyz")
	ask("/livez")
	// Output:
	// /livez 200 {"status":"ok"}
	// /readyz 503 {"status":"unavailable"}
	// /readyz 200 {"status":"ok"}
	// /readyz 503 {"status":"unavailable"}
	// /livez 200 {"status":"ok"}
}

func ExampleHealth_Ready() {
	health, err := healthgate.NewHealth(healthgate.HealthConfig{
		Enabled: true,
		Checks: []healthgate.Check{
			{Name: "cache", Check: func(context.Context) error { return nil }},
			{Name: "database", Check: func(context.Context) error { panic("no driver") }},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(health.Ready(context.Background()))
	health.Start()
	fmt.Println(health.Ready(context.Background()))
	// Output:
	// not started yet
	// not ready: database: panicked: no driver
}

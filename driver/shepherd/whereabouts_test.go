package shepherd_test

import (
	"testing"
	"time"

	"doze/driver/shepherd"
)

// The most common mistake: nobody has told the application where to listen.
func TestClient_listensElsewhere_isToldWhere(t *testing.T) {
	asRoot(t)
	for app, want := range map[string]string{
		"elsewhere": "the task listens at 127.0.0.1:",
		"never":     "the task listens nowhere",
	} {
		t.Run(app, func(t *testing.T) {
			s := spec(t, app)
			s.WakeTimeout = 500 * time.Millisecond
			c := launch(t, s)
			message := events(t, c, shepherd.EventFailed).Message
			wantIn(t, message, "wake timed out after 500ms: no target passed its probe")
			wantIn(t, message, want)
			wantIn(t, message, "it is to listen at $DOZE_PORT, "+itoa(status(t, c).Port))
		})
	}
}

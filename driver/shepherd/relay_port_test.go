package shepherd_test

import (
	"io"
	"testing"

	"doze/driver/shepherd"
	"doze/idle"
)

// A connection to what was frozen first and parked then has ended with it.
func TestClient_frozenThenParkedUnderAConnection_staysParked(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "echo"))
	conn := dial(t, c)
	echo(t, conn, "before")
	before := awaitState(t, c, idle.Ready).Wakes
	sleep(t, c, idle.Freeze)
	sleep(t, c, idle.Park)
	if _, err := conn.Write([]byte("after")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(conn) // the end, or a reset
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, c, "rid of it", func(s shepherd.Status) bool { return s.InFlight == 0 })
	if s := status(t, c); s.Depth != idle.Park || s.Wakes != before {
		t.Fatalf("%+v", s)
	}
}

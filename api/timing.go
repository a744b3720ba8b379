package api

import (
	"net/http"
	"strconv"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// addTiming tells a client, in the Server-Timing header (W3C Server Timing), where the
// time of the wake of generation gen went: until a target was placed, until it took
// connections, until it passed its probe. The gate opens before the wake's record is
// complete; admitted, when it did, stands for what is missing: a target that passed its
// first probe is ready as soon as it takes connections.
func addTiming(h http.Header, wake *idle.Wake, gen healthgate.Generation, admitted time.Time) {
	if wake == nil || wake.Generation != gen || wake.Err != "" {
		return
	}
	booted, ready := wake.Booted, wake.Ready
	if ready.IsZero() {
		ready = admitted
	}
	if booted.IsZero() {
		booted = ready
	}
	value := ""
	last := wake.Started
	for _, phase := range []struct {
		name string
		end  time.Time
	}{{"place", wake.Placed}, {"boot", booted}, {"probe", ready}} {
		if phase.end.IsZero() || phase.end.Before(last) {
			continue
		}
		if value != "" {
			value += ", "
		}
		value += phase.name + ";dur=" + milliseconds(phase.end.Sub(last))
		last = phase.end
	}
	if value != "" {
		h.Add("Server-Timing", value)
	}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1e3, 'f', 1, 64)
}

package api

import (
	"fmt"
	"strings"
	"time"

	"doze/idle"
)

// why says in words why a group is in the state that it is in: for whoever asks "why is it
// awake?" or "why does it not come up?".
func why(s idle.Status, now time.Time) string {
	switch s.State {
	case idle.Ready:
		return whyAwake(s, now)
	case idle.Waking:
		return "waking: caused by " + wakeCause(s) + inFlight(s, "; ", "wait")
	case idle.Draining:
		return "about to sleep: " + enteredBecause(s, idle.Draining)
	case idle.Sleeping:
		return "falling asleep: " + enteredBecause(s, idle.Sleeping) + inFlight(s, "; ", "wait")
	case idle.Failed:
		return whyFailed(s, now)
	}
	return "asleep: " + enteredBecause(s, idle.Asleep)
}

// whyAwake names everything that keeps a ready group from sleeping.
func whyAwake(s idle.Status, now time.Time) string {
	var reasons []string
	if text := inFlight(s, "", "are being served"); text != "" {
		reasons = append(reasons, text)
	}
	for _, lease := range viewLeases(s.Leases) {
		text := fmt.Sprintf("lease %q until %s", lease.Name, clock(lease.Until.Time))
		reasons = append(reasons, text)
	}
	if len(reasons) == 0 && !s.LastActivity.IsZero() {
		reasons = append(reasons, "last used "+ago(s.LastActivity, now))
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "not used since it was "+foundOrWoken(s)+" "+ago(s.Since, now))
	}
	if !s.SleepsAt.IsZero() {
		reasons = append(reasons, "sleeps at "+clock(s.SleepsAt)+" if nothing happens")
	}
	return "awake: " + strings.Join(reasons, "; ")
}

func foundOrWoken(s idle.Status) string {
	if s.LastWake == nil {
		return "found awake"
	}
	return "woken"
}

func whyFailed(s idle.Status, now time.Time) string {
	text := "the last wake failed: " + s.Err
	if s.RetryAt.After(now) {
		return text + "; a request may try again at " + clock(s.RetryAt)
	}
	return text + "; the next request tries again"
}

// enteredBecause is the cause of the last change to the given state.
func enteredBecause(s idle.Status, to idle.State) string {
	for i := len(s.History) - 1; i >= 0; i-- {
		if s.History[i].To == to && s.History[i].Cause != "" {
			return s.History[i].Cause
		}
	}
	return "found in this state"
}

func wakeCause(s idle.Status) string {
	if s.LastWake != nil && s.LastWake.Cause != "" {
		return s.LastWake.Cause
	}
	return enteredBecause(s, idle.Waking)
}

// inFlight is "2 requests are being served" with the lead before it, or "" when there are
// none.
func inFlight(s idle.Status, lead, what string) string {
	switch {
	case s.InFlight <= 0:
		return ""
	case s.InFlight == 1:
		singular := strings.NewReplacer("are", "is", "wait", "waits").Replace(what)
		return lead + "1 request " + singular
	}
	return fmt.Sprintf("%s%d requests %s", lead, s.InFlight, what)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func ago(t, now time.Time) string {
	return max(now.Sub(t), 0).Round(time.Second).String() + " ago"
}

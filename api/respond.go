package api

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// refusal is an answer of the gate's own. It tells a client what to do, never a name or
// a reason from behind the gate.
type refusal struct {
	status int
	text   string
	// fault is the error type of RFC 9209, 2.3 for the Proxy-Status header, by which an
	// operator tells the gate's answers from the application's.
	fault string
	// retry is the Retry-After in seconds; 0: none.
	retry int
	page  *page // for navigations, in place of text
	close bool  // the connection is not used again
}

var (
	invalidHost = refusal{status: http.StatusBadRequest, fault: "http_request_error",
		text: "The Host header is not a valid host name.", close: true}
	invalidTarget = refusal{status: http.StatusBadRequest, fault: "http_request_error",
		text: "The request target is not valid.", close: true}
	tunnelRefused = refusal{status: http.StatusMethodNotAllowed, fault: "http_request_denied",
		text: "CONNECT is not served here."}
	noSuchHost = refusal{status: http.StatusNotFound, fault: "destination_not_found",
		text: "Nothing is served under this address."}
	brokenBody = refusal{status: http.StatusBadRequest, fault: "http_request_error",
		text: "The request's body broke off.", close: true}
	// asleep is for those that are not to wake anything.
	asleep       = refusal{status: http.StatusOK, text: "asleep"}
	brokenTarget = refusal{status: http.StatusBadGateway, fault: "connection_terminated",
		text: "The application broke off before it answered."}
)

// shed refuses what is over a bound.
func shed() refusal {
	return refusal{status: http.StatusServiceUnavailable, fault: "connection_limit_reached",
		text: "Too many requests are waiting. Try again shortly.", retry: jittered(time.Second)}
}

// late refuses what has waited for as long as its limit, which it names.
func late(limit, after time.Duration) refusal {
	retry := jittered(after)
	p := failedPage(retry)
	return refusal{status: http.StatusServiceUnavailable, fault: "connection_timeout",
		text: "The application was not ready within " + inWords(limit) + ".",
		page: &p, retry: retry}
}

// failed refuses while a failed wake is cached.
func failed(after time.Duration) refusal {
	retry := jittered(after)
	p := failedPage(retry)
	return refusal{status: http.StatusServiceUnavailable, fault: "destination_unavailable",
		text: "The application cannot be started right now.", page: &p, retry: retry}
}

// waking answers a navigation with the page.
func waking(limit time.Duration) refusal {
	p := wakingPage(limit)
	return refusal{status: http.StatusServiceUnavailable, fault: "destination_unavailable",
		page: &p, retry: p.Reload}
}

// rejected answers at once while the wake goes on.
func rejected() refusal {
	return refusal{status: http.StatusServiceUnavailable, fault: "destination_unavailable",
		text: "The application is waking up. Try again shortly.", retry: 2}
}

// leaving refuses what the process cannot hold any longer.
func leaving() refusal {
	return refusal{status: http.StatusServiceUnavailable, fault: "destination_unavailable",
		text: "Try again shortly.", retry: jittered(time.Second), close: true}
}

// jittered turns d into whole seconds, at least 1, with up to half as much (and at least
// 2 s) on top, so that clients turned away together do not come back together.
func jittered(d time.Duration) int {
	base := max(1, int((d+time.Second-1)/time.Second))
	return base + rand.IntN(max(2, base/2)+1)
}

// write sends the refusal. A page goes only to who can show it.
func (f refusal) write(w http.ResponseWriter, r *http.Request) error {
	body := []byte(f.text + "\n")
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if f.page != nil && isNavigation(r) {
		html, err := f.page.render()
		if err != nil {
			return err
		}
		body = html
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if f.fault != "" {
		h.Set("Proxy-Status", "doze; error="+f.fault)
	}
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retry))
	}
	if f.close {
		h.Set("Connection", "close")
	}
	w.WriteHeader(f.status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	return err
}

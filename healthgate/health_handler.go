package healthgate

import "net/http"

// Wrap answers the two paths itself and passes every other request to next. Put it outside
// of authentication, limits, host checks and redirects: a probe carries no credentials and
// comes to the process's own address. Disabled, it returns next as it is.
func (h *Health) Wrap(next http.Handler) http.Handler {
	if !h.cfg.Enabled {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := h.answer(r); answer != nil {
			answer.write(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP answers the two paths, and any other with 404.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if answer := h.answer(r); answer != nil {
		answer.write(w, r)
		return
	}
	http.NotFound(w, r)
}

// answer returns nil for a request that is not a probe. A path that arrived in another
// spelling (RawPath is set then) is not the endpoint's.
func (h *Health) answer(r *http.Request) *healthAnswer {
	if !h.cfg.Enabled || r.URL.RawPath != "" {
		return nil
	}
	switch r.URL.Path {
	case h.cfg.LivenessPath:
		return h.answerTo(r, h.liveness)
	case h.cfg.ReadinessPath:
		return h.answerTo(r, h.readiness)
	}
	return nil
}

func (h *Health) answerTo(r *http.Request, ask func(*http.Request) *healthAnswers) *healthAnswer {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &h.misuse
	}
	answers := ask(r)
	if prefersHealthJSON(r.Header["Accept"]) {
		return &answers.draft
	}
	return &answers.plain
}

func (h *Health) liveness(*http.Request) *healthAnswers { return &h.alive }

// readiness says unavailable to a caller whose context ended first: an unknown result
// never means ready.
func (h *Health) readiness(r *http.Request) *healthAnswers {
	result, err := h.result(r.Context())
	if err != nil {
		return &h.denied
	}
	return &result.answers
}

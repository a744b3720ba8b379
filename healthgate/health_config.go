package healthgate

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"
)

const (
	defaultLivenessPath  = "/livez"
	defaultReadinessPath = "/readyz"
	defaultCacheInterval = time.Second
)

// HealthConfig describes the health endpoints. The zero value serves nothing and costs
// nothing; Log and Routes are all that may be set without Enabled.
type HealthConfig struct {
	// Enabled serves the two endpoints.
	Enabled bool
	// Checks all have to pass for readiness; none: readiness follows Start and Drain.
	Checks []Check
	// CacheInterval is for how long the combined result of a run is reused, from the end
	// of that run; default 1s. Negative: never, but callers at the same time share a run.
	CacheInterval time.Duration
	// LivenessPath and ReadinessPath are matched exactly; default /livez and /readyz. A
	// path is absolute, clean, not / itself and made of letters, digits and -._~/.
	LivenessPath, ReadinessPath string
	// ReportChecks puts the name and the state of each check into the readiness body.
	// Only where nobody but the platform reaches the port: the endpoints ask for no
	// credentials, and DNS rebinding lets a web page read them.
	ReportChecks bool
	// Routes, where known, are what the wrapped handler answers: a pattern other than one
	// for everything (/) that answers one of the two paths is an error, because Wrap
	// would take the path from it without a word. Only patterns without a host are seen.
	Routes Routes
	// Log gets one line a change of a check's state; nil discards.
	Log *slog.Logger
}

// Routes tells which pattern answers a request, "" when none does. *http.ServeMux is one.
type Routes interface {
	Handler(*http.Request) (handler http.Handler, pattern string)
}

// Validate reports everything that is wrong, joined; each error names the key.
func (c HealthConfig) Validate() error {
	if !c.Enabled {
		return c.validateDisabled()
	}
	return errors.Join(c.validateChecks(), c.validatePaths())
}

func (c HealthConfig) validateDisabled() error {
	var errs []error
	set := func(key string, is bool) {
		if is {
			errs = append(errs, fmt.Errorf("%s: has no effect unless enabled is set", key))
		}
	}
	set("checks", len(c.Checks) > 0)
	set("cache_interval", c.CacheInterval != 0)
	set("liveness_path", c.LivenessPath != "")
	set("readiness_path", c.ReadinessPath != "")
	set("report_checks", c.ReportChecks)
	return errors.Join(errs...)
}

func (c HealthConfig) validateChecks() error {
	var errs []error
	seen := make(map[string]int, len(c.Checks))
	for i, check := range c.Checks {
		for _, err := range check.problems() {
			errs = append(errs, fmt.Errorf("checks[%d] %.80q: %w", i, check.Name, err))
		}
		if first, twice := seen[check.Name]; twice && check.Name != "" {
			errs = append(errs, fmt.Errorf("checks[%d] %.80q: checks[%d] has that name already",
				i, check.Name, first))
			continue
		}
		seen[check.Name] = i
	}
	return errors.Join(errs...)
}

func (c HealthConfig) validatePaths() error {
	c = c.withDefaults()
	errs := []error{
		validateHealthPath("liveness_path", c.LivenessPath),
		validateHealthPath("readiness_path", c.ReadinessPath),
		c.validateRoutes("liveness_path", c.LivenessPath),
		c.validateRoutes("readiness_path", c.ReadinessPath),
	}
	if c.LivenessPath == c.ReadinessPath {
		errs = append(errs, fmt.Errorf("readiness_path %.200q: is the liveness path too; "+
			"a restart and a pause need two answers", c.ReadinessPath))
	}
	return errors.Join(errs...)
}

func validateHealthPath(key, p string) error {
	complain := func(problem string) error { return fmt.Errorf("%s %.200q: %s", key, p, problem) }
	switch {
	case !strings.HasPrefix(p, "/"):
		return complain("must begin with /")
	case p == "/":
		return complain("would take the root from the application")
	case strings.ContainsFunc(p, isNotHealthPathRune):
		return complain("only letters, digits and -._~/ need no encoding")
	case path.Clean(p) != p:
		return complain(fmt.Sprintf("is not clean; did you mean %.200q?", path.Clean(p)))
	}
	return nil
}

func isNotHealthPathRune(r rune) bool {
	return !isASCIIAlphanumeric(r) && !strings.ContainsRune("-._~/", r)
}

func isASCIIAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// validateRoutes asks with every method, since a route for POST alone answers the path too.
func (c HealthConfig) validateRoutes(key, p string) error {
	if c.Routes == nil || validateHealthPath(key, p) != nil {
		return nil
	}
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodTrace,
	} {
		r, err := http.NewRequest(method, p, nil)
		if err != nil {
			return fmt.Errorf("%s %.200q: %w", key, p, err)
		}
		if _, pattern := c.Routes.Handler(r); pattern != "" && !matchesEverything(pattern) {
			return fmt.Errorf("%s %.200q: the route %q answers it already", key, p, pattern)
		}
	}
	return nil
}

// matchesEverything reports whether pattern is / or its wildcard form, of any method.
func matchesEverything(pattern string) bool {
	_, rest, found := strings.Cut(pattern, "/")
	return found && (rest == "" || strings.HasPrefix(rest, "{") &&
		strings.HasSuffix(rest, "...}") && !strings.Contains(rest, "/"))
}

func (c HealthConfig) withDefaults() HealthConfig {
	if c.CacheInterval == 0 {
		c.CacheInterval = defaultCacheInterval
	}
	if c.LivenessPath == "" {
		c.LivenessPath = defaultLivenessPath
	}
	if c.ReadinessPath == "" {
		c.ReadinessPath = defaultReadinessPath
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

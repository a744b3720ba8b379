package base

import (
	"errors"
	"fmt"
	"regexp"
)

// Info says who a plugin is.
type Info struct {
	// Name is what a job says in `driver = "…"`. It need not be the name of
	// the executable, which is what the agent's `plugin "…"` block names.
	Name string
	// Version has to read as a version, with or without a v: "0.3.0",
	// "v1.2.0-rc.1", "0.0.0-dev+fe6b112". An agent refuses to start with a plugin
	// whose version it cannot parse.
	Version string
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// What agents parse (hashicorp/go-version), their numbers having to fit 64 bits.
	versionPattern = regexp.MustCompile(`^v?[0-9]{1,18}(\.[0-9]{1,18})*` +
		`(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
)

// Validate returns every problem that would keep an agent from loading the plugin.
func (i Info) Validate() error {
	var errs []error
	if !namePattern.MatchString(i.Name) {
		errs = append(errs, fmt.Errorf("cannot use %q as a plugin's name: "+
			"it takes letters, digits, '_', '-' and '.'", i.Name))
	}
	if !versionPattern.MatchString(i.Version) {
		errs = append(errs, fmt.Errorf("cannot use %q as a plugin's version: "+
			"it has to be like 0.3.0", i.Version))
	}
	return errors.Join(errs...)
}

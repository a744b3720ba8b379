package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"doze/jobs"
)

func checkVerb() verb {
	return verb{
		synopsis: "Check job files before they are run",
		usage: "FILE…\n\n" +
			"  Reads job files (job.nomad.hcl or job.json) and reports everything that is\n" +
			"  wrong with their scaling > policy > doze blocks. Needs no Nomad. Exit status 2\n" +
			"  where anything is wrong.",
		prepare: func(*settings) action { return check },
	}
}

func check(_ context.Context, term terminal, args []string) error {
	if len(args) == 0 {
		return usagef("name the job files to check")
	}
	var files []jobs.File
	for _, name := range args {
		source, err := os.ReadFile(name)
		if err != nil {
			return usagef("cannot read the job file: %w", err)
		}
		files = append(files, jobs.File{Name: name, Source: source})
	}
	managed, diagnostics := jobs.CheckFiles(files)
	for _, d := range diagnostics {
		say(term.stdout, "%s\n", d)
	}
	if len(diagnostics) > 0 {
		return statusError(exitUsage)
	}
	for _, m := range managed {
		say(term.stdout, "%s: %s\n", m.ID, policyText(m))
	}
	if len(managed) == 0 {
		say(term.stdout, "No group opts in with a scaling > policy > doze block.\n")
	}
	return nil
}

// policyText tells what a group's policy comes to.
func policyText(m jobs.Managed) string {
	var text strings.Builder
	fmt.Fprintf(&text, "sleeps after %s idle, wakes within %s", m.Policy.IdleAfter,
		m.Policy.WakeTimeout)
	for _, route := range m.Policy.Routes {
		for _, host := range route.Hosts {
			text.WriteString(", " + host + route.PathPrefix)
		}
	}
	return text.String()
}

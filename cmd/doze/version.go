package main

import (
	"context"
	"runtime"
	"runtime/debug"
)

func versionVerb() verb {
	return verb{
		synopsis: "Print the version",
		prepare: func(*settings) action {
			return func(_ context.Context, term terminal, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				say(term.stdout, "Doze %s\n", buildVersion())
				say(term.stdout, "%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return nil
			}
		},
	}
}

// buildVersion is the linker's, else that of the module as `go install` built it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if version == "dev" && ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

// Package entry makes the program that imports it a shepherd where it is started as one,
// before the packages that a shepherd has no use for are initialised: it decides nothing
// else. A program that does not want that calls shepherd.Main itself.
//
// Go initialises the first package by path whose own imports are initialised (Go
// specification, "Program initialization"). This one's imports are the shepherd's alone.
package entry

import (
	"os"

	"doze/driver/shepherd"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == "shepherd" {
		os.Exit(shepherd.Main())
	}
}

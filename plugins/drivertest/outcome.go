package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
)

// outcome is what has come of a call, or several of them that may.
type outcome int

const (
	fine        outcome = 1 << iota // no error
	open                            // it goes on until its caller leaves
	absent                          // drivers.ErrTaskNotFound
	refused                         // an error in the driver's words
	unsupported                     // the driver does not have the call
	broken                          // nothing that a plugin may answer
)

// documented are the codes that a plugin answers with: agents take others for its death, or
// do not know them.
var documented = []codes.Code{codes.Unknown, codes.NotFound, codes.InvalidArgument,
	codes.FailedPrecondition, codes.Unimplemented}

// outcomeOf judges a call by the error that it returned, from the wire or from package host.
func outcomeOf(ctx context.Context, err error) outcome {
	code := status.Code(err)
	recoverable, _ := errors.AsType[*drivers.RecoverableError](err)
	switch {
	case err == nil:
		return fine
	case ctx.Err() != nil || left(err):
		return open
	case errors.Is(err, drivers.ErrTaskNotFound) || code == codes.NotFound:
		return absent
	case code == codes.Unimplemented:
		return unsupported
	case recoverable != nil || slices.Contains(documented, code):
		return refused
	default:
		return broken
	}
}

// left reports whether a call was given up: the plugin may know it a moment before its caller.
func left(err error) bool {
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Canceled ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (o outcome) String() string {
	var names []string
	for i, name := range []string{"fine", "open", "absent", "refused", "unsupported", "broken"} {
		if o&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

package wire

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/proto/structspb"
)

// Error turns a driver's error, in a call with the context, into the status that
// Nomad acts on. It never passes on a status or a cancellation that the driver had
// from somewhere else: Nomad takes Unavailable and Canceled for the death of the
// plugin, and waits 3 s for it.
func Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if _, ok := errors.AsType[*drivers.RecoverableError](err); ok {
		return recoverable(err.Error())
	}
	if errors.Is(err, drivers.ErrTaskNotFound) {
		return status.Error(codes.NotFound, err.Error())
	}
	return status.Error(codes.Unknown, err.Error())
}

// recoverable has RecoverableError as its first detail: Nomad looks no further.
func recoverable(text string) error {
	st, err := status.New(codes.FailedPrecondition, text).
		WithDetails(&structspb.RecoverableError{Recoverable: true})
	if err != nil {
		return status.Errorf(codes.Unknown, "%s (cannot mark it recoverable: %v)", text, err)
	}
	return st.Err()
}

// ToError is the error a driver had returned, as far as it comes through.
func ToError(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	switch st.Code() {
	case codes.NotFound:
		return &remoteError{text: st.Message(), is: drivers.ErrTaskNotFound}
	case codes.Canceled:
		return &remoteError{text: st.Message(), is: context.Canceled}
	case codes.DeadlineExceeded:
		return &remoteError{text: st.Message(), is: context.DeadlineExceeded}
	}
	if len(st.Details()) > 0 {
		if d, ok := st.Details()[0].(*structspb.RecoverableError); ok && d.GetRecoverable() {
			return drivers.Recoverable(errors.New(st.Message()))
		}
	}
	return err
}

// remoteError is an error of another process that is known by its code.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() error { return e.is }

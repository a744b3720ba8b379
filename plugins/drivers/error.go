package drivers

import "errors"

// ErrTaskNotFound says that a driver does not know a task (any more). To Stop and
// Destroy it counts as success.
var ErrTaskNotFound = errors.New("task not found for given id")

// ErrTaskExited says that a task has ended already. To Stop it counts as success.
var ErrTaskExited = errors.New("the task has exited")

// RecoverableError is a failed start that may be tried again. Make one with
// Recoverable.
type RecoverableError struct {
	Err error
}

// Recoverable marks the error of a failed Start as one that the job's restart
// block applies to. Recoverable(nil) is nil.
func Recoverable(err error) error {
	if err == nil {
		return nil
	}
	return &RecoverableError{Err: err}
}

func (e *RecoverableError) Error() string { return e.Err.Error() }

func (e *RecoverableError) Unwrap() error { return e.Err }

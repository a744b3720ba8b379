package shepherd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"doze/driver/shepherd/cgroup"
)

// maxDir bounds the path of a shepherd's directory: a Unix socket's is limited to 107 bytes.
const maxDir = 104

// Launch starts a shepherd in a session of its own and, as root, in new pid, ipc and mount
// namespaces, with the task's application running unless s.OnDemand. It returns once the
// shepherd answers. dir is made, with mode 0700; it will hold the control socket, so its
// path has to be short (at most 104 bytes). The error says what is wrong with the task
// (a missing binary, a port in use) and nothing is left behind then.
func Launch(ctx context.Context, dir string, s Spec) (*Client, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("cannot launch task: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot launch task: %w", err)
	}
	if err := launch(ctx, dir, &s); err != nil {
		// it cleans up after itself, but where it could not even begin
		return nil, errors.Join(fmt.Errorf("cannot launch task: %w", err), Sweep(dir, s.Cgroup))
	}
	return &Client{dir: dir}, nil
}

// makeDir makes the directory, which must not be there yet: what is there may be somebody
// else's.
func makeDir(dir string) error {
	if len(dir) > maxDir || !filepath.IsAbs(dir) {
		return fmt.Errorf("directory %q must be absolute and at most %d bytes long", dir, maxDir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

func launch(ctx context.Context, dir string, s *Spec) error {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	b := birth{dir: dir, spec: s, log: log, place: cgroup.OpenBirthplace(s.Cgroup.Shepherd)}
	defer b.place.Close()
	err = b.attempt(ctx)
	if errors.Is(err, errStillborn) && b.place.Unified != nil {
		b.place.LeaveKilled()
		err = b.attempt(ctx)
	}
	return err
}

// Sweep kills everything in a task's cgroups and removes them and the shepherd's directory:
// for whoever finds that a shepherd is gone (ErrGone). As root its children have been
// killed by the kernel already, with the pid namespace that they shared; frozen ones in
// cgroup v1 have to be thawed to die. A shepherd that is there all the same has not been heard
// of yet, and is ended too.
func Sweep(dir string, c cgroup.Spec) error {
	return errors.Join(endOrphans(dir), cgroup.Kill(c), cgroup.Remove(c), os.RemoveAll(dir))
}

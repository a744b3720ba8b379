package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"doze/driver/shepherd/cgroup"
)

// stateVersion is the version of handleState that is written. A field may be added without
// a new version where its zero value means what its absence meant; older versions stay
// readable.
const stateVersion = 1

// handleState is what Nomad keeps for the driver, and all that the driver has of a task when
// it is started anew: the rest is asked of the task's shepherd. It is JSON; every version
// that was ever written lies in testdata.
type handleState struct {
	Version   int       `json:"version"`
	TaskID    string    `json:"task_id"`
	AllocID   string    `json:"alloc_id"`
	TaskName  string    `json:"task_name"`
	Dir       string    `json:"dir"` // the shepherd's
	StartedAt time.Time `json:"started_at"`
	// Where the task's processes are, should the shepherd be gone and they not.
	Unified string            `json:"cgroup_unified,omitempty"`
	Lent    bool              `json:"cgroup_lent,omitempty"` // of Unified
	Legacy  map[string]string `json:"cgroup_legacy,omitempty"`
}

// groups are the task's cgroups.
func (s handleState) groups() cgroup.Spec {
	return cgroup.Spec{Unified: s.Unified, Lent: s.Lent, Legacy: s.Legacy}
}

// isLeft reports whether the shepherd's directory still is there: its removal is a shepherd's
// last deed.
func (s handleState) isLeft() bool {
	_, err := os.Lstat(s.Dir)
	return err == nil
}

// encode returns the state as Nomad keeps it.
func (s handleState) encode() ([]byte, error) {
	s.Version = stateVersion
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cannot write the state of task %q: %w", s.TaskID, err)
	}
	return data, nil
}

// decodeState reads a state of any known version.
func decodeState(data []byte) (handleState, error) {
	var s handleState
	if err := json.Unmarshal(data, &s); err != nil {
		return handleState{}, fmt.Errorf("cannot read the task's state: %w", err)
	}
	if s.Version < 1 || s.Version > stateVersion {
		return handleState{}, fmt.Errorf("cannot read the task's state: version %d is not known "+
			"here; this is a driver of state version %d", s.Version, stateVersion)
	}
	switch {
	case s.TaskID == "":
		return handleState{}, errors.New("cannot read the task's state: it names no task")
	case !filepath.IsAbs(s.Dir):
		return handleState{}, fmt.Errorf("cannot read the task's state: %q is no directory "+
			"of a shepherd", s.Dir)
	}
	return s, nil
}

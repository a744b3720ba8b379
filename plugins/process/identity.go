package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// identity tells a process from every other that had or will have its number.
type identity struct {
	PID  int    `json:"pid"`
	Born string `json:"born"` // in the kernel's ticks since the boot
	Boot string `json:"boot"` // the boot's id: ticks begin anew with each
}

// identify reads who has a number now.
func identify(pid int) (identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, fmt.Errorf("cannot read the boot's id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, fmt.Errorf("cannot read the process's birth: %w", err)
	}
	// The second field is the command's name, which may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return identity{}, fmt.Errorf("cannot read the process's birth in %q", stat)
	}
	return identity{PID: pid, Born: fields[19], Boot: strings.TrimSpace(string(boot))}, nil
}

func (id identity) encode() []byte {
	state, err := json.Marshal(id)
	if err != nil {
		return nil // numbers and strings always marshal
	}
	return state
}

func decodeIdentity(state []byte) (identity, error) {
	var id identity
	if err := json.Unmarshal(state, &id); err != nil {
		return identity{}, fmt.Errorf("cannot read its state: %w", err)
	}
	if id.PID <= 1 || id.Born == "" || id.Boot == "" {
		return identity{}, errors.New("its state names no process")
	}
	return id, nil
}

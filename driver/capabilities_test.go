package driver_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"doze/plugins/drivers"
	"doze/plugins/drivertest"
	"doze/plugins/proto/driverpb"
)

// What an agent is told of the driver decides what it hands over and what it refuses by itself:
// the whole message, as it is on the wire. A field that is not named is not sent.
func TestPlugin_capabilities_areTheWholeMessage(t *testing.T) {
	plain := &driverpb.DriverCapabilities{
		SendSignals: true, Exec: true,
		FsIsolation: driverpb.DriverCapabilities_NONE,
		NetworkIsolationModes: []driverpb.NetworkIsolationSpec_NetworkIsolationMode{
			driverpb.NetworkIsolationSpec_HOST, driverpb.NetworkIsolationSpec_GROUP},
		MountConfigs: driverpb.DriverCapabilities_NO_MOUNTS,
	}
	withLogs := proto.CloneOf(plain)
	withLogs.DisableLogCollection = true
	for name, c := range map[string]struct {
		logs map[string]any // the agent's block; nil: none
		want *driverpb.DriverCapabilities
	}{
		"plain":               {nil, plain},
		"shepherds keep logs": {map[string]any{}, withLogs},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := subject(t).Config
			if c.logs != nil {
				cfg.Plugin["logs"] = c.logs
			}
			a := drivertest.Boot(t, cfg)
			r, err := a.Driver().Capabilities(t.Context(), &driverpb.CapabilitiesRequest{})
			if err != nil {
				t.Fatal(err)
			}
			got := r.GetCapabilities()
			if !proto.Equal(got, c.want) {
				t.Errorf("an agent is told %s, not %s", protojson.Format(got), protojson.Format(c.want))
			}
		})
	}
}

// A field that a later Nomad adds has to be decided on, here and above.
func TestPlugin_capabilities_areAllDecidedOn(t *testing.T) {
	const decided = "send_signals exec fs_isolation network_isolation_modes must_create_network " +
		"mount_configs disable_log_collection dynamic_workload_users"
	var names []string
	fields := (&driverpb.DriverCapabilities{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	if got := strings.Join(names, " "); got != decided {
		t.Errorf("the message has %s, decided on are %s", got, decided)
	}
}

// Agents refuse a job's volume_mount by mount_configs. A mount that comes all the same, as a
// plugin for devices makes them, is refused in words that name it, and nothing is started.
func TestPlugin_mountElsewhere_isRefusedByNameAndStartsNothing(t *testing.T) {
	s := subject(t)
	a := drivertest.Boot(t, s.Config)
	task := a.NewTask("task", s.Long)
	keepReading(t, task)
	task.Mounts = []drivers.Mount{{HostPath: "/srv/data", TaskPath: "/data"}}
	_, err := a.Run(task.TaskConfig)
	want := `mount: "/srv/data" can't be seen as "/data"; a task of this driver sees the ` +
		`machine's files as they are; use it at its own path`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the start returned %v, not %s", err, want)
	}
	if _, err := a.Inspect(t.Context(), task.ID); err == nil {
		t.Error("a task that was refused is known")
	}
	task.Mounts[0].TaskPath = task.Mounts[0].HostPath
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Errorf("at its own path it is refused too: %v", err)
	}
}

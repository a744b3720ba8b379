package plugins_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/host"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
	"doze/plugins/proto/structspb"
)

// launch starts a driver of this package; the process ends with the test.
func launch(t *testing.T, driver string) *host.Plugin {
	t.Helper()
	p, err := host.Launch(plugin(t, driver))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// serving starts a driver and configures it.
func serving(t *testing.T, driver string) *host.Plugin {
	t.Helper()
	p := launch(t, driver)
	configure(t, p)
	return p
}

func configure(t *testing.T, p *host.Plugin) {
	t.Helper()
	if err := p.SetConfig(t.Context(), base.Config{Agent: &base.Agent{}}); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, p *host.Plugin, id string) (*driverpb.StartTaskResponse, error) {
	t.Helper()
	return p.Driver().StartTask(t.Context(), &driverpb.StartTaskRequest{
		Task: &driverpb.TaskConfig{Id: id, MsgpackDriverConfig: []byte{0x80}}})
}

func TestStart_recoverableError_isTheFirstDetailOfFailedPrecondition(t *testing.T) {
	_, err := start(t, serving(t, "probe"), "recoverable")
	st := status.Convert(err)
	if st.Code() != codes.FailedPrecondition || len(st.Details()) == 0 {
		t.Fatalf("the status is %v with details %v", st.Code(), st.Details())
	}
	d, ok := st.Details()[0].(*structspb.RecoverableError)
	if !ok || !d.GetRecoverable() {
		t.Errorf("the first detail is %v", st.Details()[0])
	}
	const url = "type.googleapis.com/hashicorp.nomad.plugins.shared.structs.RecoverableError"
	if got := st.Proto().GetDetails()[0].GetTypeUrl(); got != url {
		t.Errorf("the detail's type is %q", got)
	}
	if want := "cannot start: the disk is full"; st.Message() != want {
		t.Errorf("the text is %q, want %q", st.Message(), want)
	}
}

func TestStart_plainError_isNotRecoverable(t *testing.T) {
	_, err := start(t, serving(t, "probe"), "fatal")
	st := status.Convert(err)
	if st.Message() != "there is no such command" || len(st.Details()) != 0 {
		t.Errorf("the status is %v", st)
	}
}

func TestStart_statusOfAnInnerCall_isNotTakenForThePluginsDeath(t *testing.T) {
	p := serving(t, "probe")
	for _, id := range []string{"unavailable", "canceled"} {
		_, err := start(t, p, id)
		if code := status.Code(err); code != codes.Unknown {
			t.Errorf("%s came through as %v", id, code)
		}
	}
}

func TestStart_handle_hasTheTasksConfigWithoutTheConfigBlock(t *testing.T) {
	r, err := start(t, serving(t, "probe"), "a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	h := r.GetHandle()
	if h.GetConfig().GetId() != "a/b/c" {
		t.Errorf("the handle's config is %v: an agent would recover nothing", h.GetConfig())
	}
	if len(h.GetConfig().GetMsgpackDriverConfig()) != 0 {
		t.Error("the handle has the config block, which no agent stores")
	}
	if string(h.GetDriverState()) != "state of a/b/c" || h.GetVersion() != 7 ||
		h.GetState() != driverpb.TaskState_RUNNING {
		t.Errorf("the handle is %v", h)
	}
	if n := r.GetNetworkOverride(); n.GetAddr() != "10.0.0.1" || n.GetPortMap()["http"] != 80 {
		t.Errorf("the network is %v", n)
	}
}

func TestStart_withoutATask_isAnErrorAndNoCrash(t *testing.T) {
	p := serving(t, "probe")
	_, err := p.Driver().StartTask(t.Context(), &driverpb.StartTaskRequest{})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("it returned %v", err)
	}
}

func TestRecover_emptyTaskIDAndConfigBlock_idIsTakenFromTheHandle(t *testing.T) {
	p := serving(t, "probe")
	// This agent still has the config block; another has not: the driver sees none.
	_, err := p.Driver().RecoverTask(t.Context(), &driverpb.RecoverTaskRequest{
		Handle: &driverpb.TaskHandle{Version: 7, DriverState: []byte("s"),
			Config: &driverpb.TaskConfig{Id: "a/b/c", MsgpackDriverConfig: []byte{0x80}}}})
	if err != nil {
		t.Fatal(err)
	}
	e := firstEvent(t, p)
	if e.TaskID != "a/b/c" || e.Message != `recovered from "s", version 7, 0 bytes of config` {
		t.Errorf("the driver has said %+v", e)
	}
	for _, h := range []*driverpb.TaskHandle{nil, {}, {Config: &driverpb.TaskConfig{}}} {
		_, err := p.Driver().RecoverTask(t.Context(), &driverpb.RecoverTaskRequest{Handle: h})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("Recover of %v returned %v", h, err)
		}
	}
}

func firstEvent(t *testing.T, p *host.Plugin) (first drivers.Event) {
	t.Helper()
	enough := errors.New("enough")
	err := p.Events(t.Context(), func(e drivers.Event) error { first = e; return enough })
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return first
}

func TestWait_everyAnswer_hasAResult(t *testing.T) {
	p := serving(t, "probe")
	for _, id := range []string{"fine", "message"} {
		r, err := p.Driver().WaitTask(t.Context(), &driverpb.WaitTaskRequest{TaskId: id})
		if err != nil || r.GetResult() == nil {
			t.Errorf("Wait for %q returned %v, %v: agents before 1.11.3 panic", id, r, err)
		}
	}
	r, err := p.Wait(t.Context(), "message")
	if err != nil || r != (drivers.ExitResult{Code: 1, Message: "the port is in use"}) {
		t.Errorf("Wait returned %+v, %v", r, err)
	}
	if _, err := p.Wait(t.Context(), "unknown"); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("Wait for an unknown task returned %v", err)
	}
}

func TestStop_unknownOrExitedTask_isSuccess(t *testing.T) {
	p := serving(t, "probe")
	for _, id := range []string{"unknown", "exited"} {
		if err := p.Stop(t.Context(), id, drivers.StopRequest{}); err != nil {
			t.Errorf("Stop of an %s task returned %v: an agent would try for minutes", id, err)
		}
	}
	if err := p.Destroy(t.Context(), "unknown", true); err != nil {
		t.Errorf("Destroy of an unknown task returned %v", err)
	}
}

func TestStop_timeoutNotSentOrNegative_isNone(t *testing.T) {
	p := serving(t, "probe")
	for _, timeout := range []*durationpb.Duration{nil, durationpb.New(-time.Hour)} {
		_, err := p.Driver().StopTask(t.Context(),
			&driverpb.StopTaskRequest{TaskId: "x", Timeout: timeout})
		if got := status.Convert(err).Message(); got != `asked to stop by "" in 0s` {
			t.Errorf("with timeout %v the driver was %s", timeout, got)
		}
	}
}

func TestInspect_emptyStatus_leavesNothingOutThatAgentsFollow(t *testing.T) {
	r, err := serving(t, "probe").Driver().InspectTask(t.Context(), &driverpb.InspectTaskRequest{})
	if err != nil {
		t.Fatal(err)
	}
	task := r.GetTask()
	if task == nil || task.GetResult() == nil || !task.GetStartedAt().IsValid() ||
		task.GetStartedAt() == nil || task.GetCompletedAt() == nil || !task.GetCompletedAt().IsValid() {
		t.Errorf("the task is %v", task)
	}
}

func TestStats_emptyStats_haveTimeAndUsage(t *testing.T) {
	stream, err := serving(t, "probe").Driver().TaskStats(t.Context(), &driverpb.TaskStatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if s := r.GetStats(); !s.GetTimestamp().IsValid() || s.GetTimestamp() == nil ||
		s.GetAggResourceUsage() == nil {
		t.Errorf("the stats are %v: an agent would panic", s)
	}
}

func TestCapabilities_fieldsThatTheOfficialServerForgets_areSent(t *testing.T) {
	p := launch(t, "probe")
	r, err := p.Driver().Capabilities(t.Context(), &driverpb.CapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.GetCapabilities()
	if c.GetMountConfigs() != driverpb.DriverCapabilities_NO_MOUNTS || !c.GetDisableLogCollection() {
		t.Errorf("mount_configs and disable_log_collection are not sent: %v", c)
	}
	if !c.GetSendSignals() || !c.GetExec() || c.GetMustCreateNetwork() ||
		c.GetFsIsolation() != driverpb.DriverCapabilities_CHROOT || !c.GetDynamicWorkloadUsers() ||
		len(c.GetNetworkIsolationModes()) != 2 {
		t.Errorf("the capabilities are %v", c)
	}
	c2, err := launch(t, "mute").Capabilities(t.Context())
	if err != nil || c2.Signals || c2.Exec {
		t.Errorf("a driver without signals and exec has %+v, %v", c2, err)
	}
}

func TestInfo_apiVersions_holdTheOneThatAgentsKnow(t *testing.T) {
	r, err := launch(t, "probe").Base().PluginInfo(t.Context(), &basepb.PluginInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r.GetType() != basepb.PluginType_DRIVER || r.GetName() != "probe" ||
		strings.Join(r.GetPluginApiVersions(), " ") != "v0.1.0" || r.GetPluginVersion() != "0.1.0" {
		t.Errorf("the plugin is %v", r)
	}
}

func TestSetConfig_withoutNomadConfig_onlyChecks(t *testing.T) {
	p, ctx := launch(t, "probe"), t.Context()
	schema, err := p.ConfigSchema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := host.EncodeConfig(schema, map[string]any{"refuse": true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.SetConfig(ctx, base.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = start(t, p, "a/b/c")
	if status.Code(err) != codes.FailedPrecondition || len(status.Convert(err).Details()) != 0 {
		t.Errorf("a task was started by a plugin that only checks: %v", err)
	}
	if err := p.Fingerprint(ctx, func(drivers.Fingerprint) error { return nil }); err == nil {
		t.Error("a plugin that only checks has fingerprinted the machine")
	}
	err = p.SetConfig(ctx, base.Config{Raw: refused, Agent: &base.Agent{}})
	if err == nil || !strings.Contains(err.Error(), "this configuration is refused") {
		t.Errorf("a bad configuration returned %v", err)
	}
	if err := p.SetConfig(ctx, base.Config{Agent: &base.Agent{}}); err != nil {
		t.Fatal(err)
	}
	if err := p.SetConfig(ctx, base.Config{}); err != nil { // checks again: still serves
		t.Fatal(err)
	}
	if _, err := start(t, p, "a/b/c"); err != nil {
		t.Errorf("a configured plugin returned %v", err)
	}
}

func TestInitAndShutdown_driverWithoutThem_areNoErrors(t *testing.T) {
	p := serving(t, "mute")
	if _, err := p.Driver().Init(t.Context(), &driverpb.InitRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := p.Driver().Shutdown(t.Context(), &driverpb.ShutdownRequest{}); err != nil {
		t.Error(err)
	}
}

func TestOptionalCalls_driverWithoutThem_areUnimplemented(t *testing.T) {
	p, ctx := serving(t, "mute"), t.Context()
	_, exec := p.Exec(ctx, "x", []string{"true"}, 0)
	_, inspect := p.Inspect(ctx, "x")
	_, stream := p.ExecStream(ctx, "x", drivers.Session{Command: []string{"true"}})
	_, _, network := p.CreateNetwork(ctx, "x", "")
	for what, err := range map[string]error{"signal": p.Signal(ctx, "x", "SIGHUP"), "exec": exec,
		"inspect": inspect, "exec stream": stream, "network": network,
		"network's end": p.DestroyNetwork(ctx, "x", drivers.Network{})} {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s returned %v", what, err)
		}
	}
}

package wire_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
	"doze/plugins/internal/protofill"
	"doze/plugins/internal/wire"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
	"doze/plugins/proto/hclspecpb"
)

// filled is a T with something else than zero in every field, however deep.
func filled[T any]() T {
	var v T
	next := 0
	fill(reflect.ValueOf(&v).Elem(), &next)
	return v
}

func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*next), 5).UTC()))
			return
		}
		for _, field := range v.Fields() {
			fill(field, next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.Map:
		key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, next)
		fill(item, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, item)
	case reflect.String:
		v.SetString(string(rune('a' + *next%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*next % 200))
	default:
		v.SetInt(int64(*next % 3))
	}
}

// through sends a message over the wire.
func through[M proto.Message](t *testing.T, in, out M) M {
	t.Helper()
	raw, err := proto.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it came through as\n%+v, sent was\n%+v", got, want)
	}
}

func TestWire_everyFieldOfEveryType_comesThrough(t *testing.T) {
	task := filled[drivers.TaskConfig]()
	for _, n := range task.Resources.Networks { // whose ports have no more than these
		n.ReservedPorts[0] = drivers.Port{Label: "r", Value: 1}
		n.DynPorts[0] = drivers.Port{Label: "d", Value: 2}
	}
	same(t, wire.ToTask(through(t, wire.FromTask(task), &driverpb.TaskConfig{})), task)

	task.Raw = nil
	h := drivers.Handle{Version: 3, State: []byte("s"), Task: task}
	same(t, wire.ToHandle(through(t, wire.FromHandle(h), &driverpb.TaskHandle{})), h)

	cfg := filled[base.Config]()
	same(t, wire.ToConfig(through(t, wire.FromConfig(cfg), &basepb.SetConfigRequest{})), cfg)

	st := filled[drivers.Status]()
	st.Exit.Message = "" // not part of it
	same(t, wire.ToStatus(through(t, wire.FromStatus(st), &driverpb.InspectTaskResponse{})), st)

	stats := filled[drivers.Stats]()
	same(t, wire.ToStats(through(t, wire.FromStats("x", stats), &driverpb.TaskStats{})), stats)

	event := filled[drivers.Event]()
	same(t, wire.ToEvent(through(t, wire.FromEvent(event), &driverpb.DriverTaskEvent{})), event)
}

// unread is what Nomad may send and no driver of this SDK is told.
var unread = []protoreflect.FullName{
	// never sent by its client
	"hashicorp.nomad.plugins.drivers.proto.TaskConfig.parent_job_id",
	// a handle is of a running task
	"hashicorp.nomad.plugins.drivers.proto.TaskHandle.state",
	// the distances between NUMA nodes
	"hashicorp.nomad.plugins.base.proto.ClientTopology.distances",
	// read, but what protofill fills in is no time
	"google.protobuf.Timestamp.nanos",
}

func TestWire_everyFieldOfTheProtocol_isRead(t *testing.T) {
	message := func(m proto.Message) proto.Message {
		return protofill.New(m.ProtoReflect().Type(), 0, func(f protoreflect.FieldDescriptor) bool {
			return !slices.Contains(unread, f.FullName())
		})
	}
	sent := func(got, want proto.Message) {
		t.Helper()
		if !proto.Equal(got, want) {
			t.Errorf("it came back as\n%v, it was\n%v", got, want)
		}
	}
	task := message(&driverpb.TaskConfig{}).(*driverpb.TaskConfig)
	sent(wire.FromTask(wire.ToTask(task)), task)
	handle := message(&driverpb.TaskHandle{}).(*driverpb.TaskHandle)
	back := wire.FromHandle(wire.ToHandle(handle))
	handle.Config.MsgpackDriverConfig, handle.State = nil, driverpb.TaskState_RUNNING
	sent(back, handle)
	config := message(&basepb.SetConfigRequest{}).(*basepb.SetConfigRequest)
	sent(wire.FromConfig(wire.ToConfig(config)), config)
	status := message(&driverpb.InspectTaskResponse{}).(*driverpb.InspectTaskResponse)
	sent(wire.FromStatus(wire.ToStatus(status)), status)
	stats := message(&driverpb.TaskStats{}).(*driverpb.TaskStats)
	sent(wire.FromStats(stats.GetId(), wire.ToStats(stats)), stats)
	event := message(&driverpb.DriverTaskEvent{}).(*driverpb.DriverTaskEvent)
	sent(wire.FromEvent(wire.ToEvent(event)), event)
	network := message(&driverpb.NetworkIsolationSpec{}).(*driverpb.NetworkIsolationSpec)
	sent(wire.FromNetwork(wire.ToNetwork(network)), network)
	override := message(&driverpb.NetworkOverride{}).(*driverpb.NetworkOverride)
	sent(wire.FromOverride(wire.ToOverride(override)), override)
	exit := message(&driverpb.ExitResult{}).(*driverpb.ExitResult)
	sent(wire.FromExit(wire.ToExit(exit)), exit)
}

func TestWire_emptyMessages_areZeroValues(t *testing.T) {
	same(t, wire.ToTask(nil), drivers.TaskConfig{})
	same(t, wire.ToHandle(nil), drivers.Handle{})
	same(t, wire.ToConfig(nil), base.Config{})
	same(t, wire.ToStatus(nil), drivers.Status{})
	same(t, wire.ToStats(nil), drivers.Stats{})
	same(t, wire.ToExit(nil), drivers.ExitResult{})
}

func TestSpec_everyKind_comesThroughWithItsNames(t *testing.T) {
	spec := hclspec.Object{
		"a": hclspec.Attr{Type: "string", Required: true},
		"b": hclspec.Attr{Name: "other", Type: "bool"},
		"c": hclspec.Default{Primary: hclspec.Attr{Type: "bool"}, Fallback: hclspec.Bool(true)},
		"d": hclspec.Block{Required: true, Nested: hclspec.Object{"x": hclspec.Attr{Type: "any"}}},
		"e": hclspec.BlockAttrs{Type: "string"},
		"f": hclspec.BlockList{Min: 1, Max: 2, Nested: hclspec.Object{}},
		"g": hclspec.BlockSet{Min: 1, Max: 2, Nested: hclspec.Object{}},
		"h": hclspec.BlockMap{Labels: []string{"name"}, Nested: hclspec.Object{}},
		"i": hclspec.Array{hclspec.Literal("1")},
	}
	got, err := wire.ToSpec(through(t, wire.FromSpec(spec), &hclspecpb.Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	same[hclspec.Spec](t, got, hclspec.Object{
		"a": hclspec.Attr{Name: "a", Type: "string", Required: true},
		"b": hclspec.Attr{Name: "other", Type: "bool"},
		"c": hclspec.Default{ // Nomad does not look at the key here
			Primary: hclspec.Attr{Name: "c", Type: "bool"}, Fallback: hclspec.Bool(true)},
		"d": hclspec.Block{Name: "d", Required: true,
			Nested: hclspec.Object{"x": hclspec.Attr{Name: "x", Type: "any"}}},
		"e": hclspec.BlockAttrs{Name: "e", Type: "string"},
		"f": hclspec.BlockList{Name: "f", Min: 1, Max: 2, Nested: hclspec.Object{}},
		"g": hclspec.BlockSet{Name: "g", Min: 1, Max: 2, Nested: hclspec.Object{}},
		"h": hclspec.BlockMap{Name: "h", Labels: []string{"name"}, Nested: hclspec.Object{}},
		"i": hclspec.Array{hclspec.Literal("1")},
	})
	if wire.FromSpec(nil) != nil {
		t.Error("no spec became one")
	}
}

func TestToSpec_messageThatIsNoSpec_isAnError(t *testing.T) {
	deep := &hclspecpb.Spec{}
	for range 1000 {
		deep = &hclspecpb.Spec{Block: &hclspecpb.Spec_BlockList{
			BlockList: &hclspecpb.BlockList{Nested: deep}}}
	}
	for name, pb := range map[string]*hclspecpb.Spec{"empty": {}, "too deep": deep} {
		if _, err := wire.ToSpec(pb); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if s, err := wire.ToSpec(nil); s != nil || err != nil {
		t.Errorf("none became %v, %v", s, err)
	}
}

func TestExit_codesBeyond32Bits_becomeTheNearest(t *testing.T) {
	pb := wire.FromExit(drivers.ExitResult{Code: math.MaxInt, Signal: math.MinInt})
	if pb.GetExitCode() != math.MaxInt32 || pb.GetSignal() != math.MinInt32 {
		t.Errorf("it is %v", pb)
	}
}

func TestEvent_timeThatNoAgentTakes_isReplaced(t *testing.T) {
	pb := wire.FromEvent(drivers.Event{At: time.Unix(math.MaxInt64/2, 0)})
	if !pb.GetTimestamp().IsValid() {
		t.Errorf("the time is %v", pb.GetTimestamp())
	}
}

func TestFingerprint_valueOfAnotherKind_isAnError(t *testing.T) {
	_, err := wire.FromFingerprint(drivers.Fingerprint{
		Attributes: map[string]drivers.Attribute{"x": {Value: 5}}})
	if err == nil {
		t.Error("an int is no attribute's value: it had no error")
	}
}

func TestError_acrossTheWire_keepsWhatCallersActOn(t *testing.T) {
	ctx := t.Context()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	again := wire.ToError(wire.Error(ctx, drivers.Recoverable(errors.New("full"))))
	if _, ok := errors.AsType[*drivers.RecoverableError](again); !ok || again.Error() != "full" {
		t.Errorf("a recoverable error became %v", again)
	}
	if err := wire.ToError(wire.Error(ctx, drivers.ErrTaskNotFound)); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("an unknown task became %v", err)
	}
	if err := wire.ToError(wire.Error(ended, errors.New("x"))); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up became %v", err)
	}
	if err := wire.ToError(wire.Error(ctx, context.Canceled)); errors.Is(err, context.Canceled) {
		t.Errorf("a cancellation from elsewhere came through as %v", err)
	}
	if wire.Error(ctx, nil) != nil || wire.ToError(nil) != nil {
		t.Error("no error became one")
	}
}

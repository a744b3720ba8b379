package plugins_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

// big is more than gRPC takes in a message by default; agents send and take 2 GiB.
const big = 5 << 20

func TestMessages_largerThan4MiB_arriveBothWays(t *testing.T) {
	p, ctx := launch(t, "probe"), t.Context()
	// {"x": <5 MiB>}: a key that the driver does not have
	raw := append([]byte{0x81, 0xa1, 'x', 0xdb, 0, 0x50, 0, 0}, bytes.Repeat([]byte{'y'}, big)...)
	err := p.SetConfig(ctx, base.Config{Raw: raw, Agent: &base.Agent{}})
	if err == nil || !strings.Contains(err.Error(), "x: unknown key") {
		t.Fatalf("a large config block was not read: %v", err)
	}
	if err := p.SetConfig(ctx, base.Config{Agent: &base.Agent{}}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"BIG": strings.Repeat("x", big)}
	h, _, err := p.Start(ctx, drivers.TaskConfig{ID: "a/b/c", Env: env, Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Task.Env["BIG"]) != big {
		t.Errorf("of the environment came back %d bytes", len(h.Task.Env["BIG"]))
	}
	if err := p.Recover(ctx, h); err != nil {
		t.Errorf("a large handle was refused: %v", err)
	}
	stream, err := p.Driver().ExecTaskStreaming(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range []*driverpb.ExecTaskStreamingRequest{
		{Setup: &driverpb.ExecTaskStreamingRequest_Setup{TaskId: "x", Command: []string{"count"}}},
		{Stdin: &driverpb.ExecTaskStreamingIOOperation{Data: raw, Close: true}},
	} {
		if err := stream.Send(msg); err != nil {
			t.Fatal(err)
		}
	}
	msg, err := stream.Recv()
	if got := string(msg.GetStdout().GetData()); err != nil || got != "5242888" {
		t.Errorf("of the input arrived %q bytes, %v", got, err)
	}
}

// What a newer agent has put into a task comes back in its handle, which it stores.
func TestMessages_unknownFields_areIgnoredAndKeptInTheHandle(t *testing.T) {
	p, ctx := launch(t, "probe"), t.Context()
	set := newer(&basepb.SetConfigRequest{NomadConfig: newer(&basepb.NomadConfig{})})
	if _, err := p.Base().SetConfig(ctx, set); err != nil {
		t.Fatal(err)
	}
	task := newer(&driverpb.TaskConfig{Id: "a/b/c", ParentJobId: "parent",
		MsgpackDriverConfig: []byte{0x80}, Resources: newer(&driverpb.Resources{})})
	r, err := p.Driver().StartTask(ctx, newer(&driverpb.StartTaskRequest{Task: task}))
	if err != nil {
		t.Fatal(err)
	}
	want := proto.CloneOf(task)
	want.MsgpackDriverConfig = nil
	if got := r.GetHandle().GetConfig(); !proto.Equal(got, want) {
		t.Errorf("the handle's config is\n%v, sent was\n%v", got, want)
	}
	_, err = p.Driver().RecoverTask(ctx, newer(&driverpb.RecoverTaskRequest{Handle: r.GetHandle()}))
	if err != nil {
		t.Error(err)
	}
	w, err := p.Driver().WaitTask(ctx, newer(&driverpb.WaitTaskRequest{TaskId: "fine"}))
	if err != nil || w.GetResult() == nil {
		t.Errorf("Wait returned %v, %v", w, err)
	}
	stream, err := p.Driver().ExecTaskStreaming(ctx)
	if err != nil {
		t.Fatal(err)
	}
	setup := newer(&driverpb.ExecTaskStreamingRequest_Setup{TaskId: "x", Command: []string{"cat"}})
	for _, msg := range []*driverpb.ExecTaskStreamingRequest{{Setup: setup},
		newer(&driverpb.ExecTaskStreamingRequest{}),
		{Stdin: newer(&driverpb.ExecTaskStreamingIOOperation{Close: true})},
	} {
		if err := stream.Send(msg); err != nil {
			t.Fatal(err)
		}
	}
	if msg, err := stream.Recv(); err != nil || string(msg.GetStderr().GetData()) != "bye" {
		t.Errorf("exec answered %v, %v", msg, err)
	}
}

// newer adds fields that this protocol does not have, of every wire type.
func newer[M proto.Message](m M) M {
	var raw []byte
	for number := protowire.Number(1000); number < 2000; number += 250 {
		raw = protowire.AppendTag(raw, number, protowire.VarintType)
		raw = protowire.AppendVarint(raw, 7)
		raw = protowire.AppendTag(raw, number+1, protowire.BytesType)
		raw = protowire.AppendString(raw, "news")
		raw = protowire.AppendTag(raw, number+2, protowire.Fixed32Type)
		raw = protowire.AppendFixed32(raw, 7)
		raw = protowire.AppendTag(raw, number+3, protowire.Fixed64Type)
		raw = protowire.AppendFixed64(raw, 7)
	}
	m.ProtoReflect().SetUnknown(protoreflect.RawFields(raw))
	return m
}

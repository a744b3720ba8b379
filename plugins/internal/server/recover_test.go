package server_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"doze/plugins/drivers"
	"doze/plugins/internal/server"
	"doze/plugins/proto/driverpb"
)

// finder is a driver that takes what it is told to recover, but for the state "lost".
type finder struct {
	drivers.Driver // has the rest, which nobody calls
	told           []drivers.Handle
}

func (d *finder) Recover(_ context.Context, h drivers.Handle) error {
	d.told = append(d.told, h)
	if string(h.State) == "lost" {
		return drivers.ErrTaskNotFound
	}
	return nil
}

// FuzzRecover holds that no handle crashes the server, that a driver is never told of one
// without an id or with a config block, and is told all else.
func FuzzRecover(f *testing.F) {
	for _, req := range []*driverpb.RecoverTaskRequest{
		nil, {TaskId: "x"}, {Handle: &driverpb.TaskHandle{}},
		{Handle: &driverpb.TaskHandle{Version: 1, DriverState: []byte("lost"),
			Config: &driverpb.TaskConfig{Id: "a/b/c"}}},
		{Handle: &driverpb.TaskHandle{Version: -1, DriverState: []byte("{}"),
			Config: &driverpb.TaskConfig{Id: "a/b/c", MsgpackDriverConfig: []byte{0x80},
				Env: map[string]string{"A": "b"}, Mounts: []*driverpb.Mount{nil, {}},
				NetworkIsolationSpec: &driverpb.NetworkIsolationSpec{Mode: 99}}}},
	} {
		raw, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req := &driverpb.RecoverTaskRequest{}
		if proto.Unmarshal(raw, req) != nil {
			return // gRPC refuses it before anybody is asked
		}
		d := &finder{}
		_, err := server.NewDriver(d).RecoverTask(t.Context(), req)
		if req.GetHandle().GetConfig().GetId() == "" {
			if status.Code(err) != codes.InvalidArgument || len(d.told) != 0 {
				t.Fatalf("without an id it returned %v and told the driver %+v", err, d.told)
			}
			return
		}
		if !slices.Contains([]codes.Code{codes.OK, codes.NotFound}, status.Code(err)) {
			t.Fatalf("it returned %v", err)
		}
		h := d.told[0]
		if h.Task.ID != req.GetHandle().GetConfig().GetId() || h.Task.Raw != nil ||
			h.Version != int(req.GetHandle().GetVersion()) ||
			string(h.State) != string(req.GetHandle().GetDriverState()) {
			t.Fatalf("of %v the driver was told %+v", req, h)
		}
	})
}

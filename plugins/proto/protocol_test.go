package proto_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"doze/plugins/internal/protolist"
	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
	"doze/plugins/proto/hclspecpb"
	"doze/plugins/proto/structspb"
)

// These files hold what Nomad's own .proto files say: facts, written by `protogen list`.
const (
	oldest = "1.6.10"
	newest = "2.0.5"
)

// retired is what only older agents know. They read it, and none needs it.
const retired = "message hashicorp.nomad.plugins.drivers.proto.DriverCapabilities " +
	"7 remote_tasks optional bool"

func TestProtocol_everyNameAndNumber_isNewestNomads(t *testing.T) {
	got, want := ours(), nomads(t, newest)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("Nomad does not have: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("only Nomad has: %s", line)
		}
	}
}

func TestProtocol_everythingThatOldestNomadKnows_isThere(t *testing.T) {
	got := ours()
	for _, line := range nomads(t, oldest) {
		if !slices.Contains(got, line) && line != retired {
			t.Errorf("only the oldest Nomad has: %s", line)
		}
	}
}

func TestProtocol_numbersThatWereRetired_areNotUsedAgain(t *testing.T) {
	for name, m := range map[protoreflect.Name]protoreflect.ProtoMessage{
		"remote_tasks": (*driverpb.DriverCapabilities)(nil),
		"cpuset_mems":  (*driverpb.LinuxResources)(nil),
	} {
		d := m.ProtoReflect().Descriptor()
		if !d.ReservedRanges().Has(7) || !d.ReservedNames().Has(name) {
			t.Errorf("%s of %s is not reserved", name, d.FullName())
		}
	}
}

func nomads(t *testing.T, version string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/nomad-" + version + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func ours() []string {
	var out []string
	for _, file := range []protoreflect.FileDescriptor{basepb.File_basepb_base_proto,
		driverpb.File_driverpb_driver_proto, hclspecpb.File_hclspecpb_hclspec_proto,
		structspb.File_structspb_attribute_proto, structspb.File_structspb_recoverable_error_proto,
	} {
		out = append(out, protolist.Lines(file)...)
	}
	return out
}

package proto_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
	"doze/plugins/proto/hclspecpb"
	"doze/plugins/proto/structspb"
)

var update = flag.Bool("update", false, "write testdata/protocol.txt anew")

// The golden file was compared with Nomad 2.0.5's own descriptors: whatever changes
// it breaks agents.
func TestProtocol_everyNameAndNumber_isNomads(t *testing.T) {
	var lines []string
	for _, file := range []protoreflect.FileDescriptor{basepb.File_basepb_base_proto,
		driverpb.File_driverpb_driver_proto, hclspecpb.File_hclspecpb_hclspec_proto,
		structspb.File_structspb_attribute_proto, structspb.File_structspb_recoverable_error_proto,
	} {
		lines = append(lines, describeFile(file)...)
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/protocol.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/protocol.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the protocol is not testdata/protocol.txt any more:\n%s", got)
	}
}

func describeFile(f protoreflect.FileDescriptor) []string {
	out := append(describeMessages(f.Messages()), describeEnums(f.Enums())...)
	for i := range f.Services().Len() {
		s := f.Services().Get(i)
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			out = append(out, fmt.Sprintf("rpc /%s/%s %s stream=%t returns %s stream=%t",
				s.FullName(), m.Name(), m.Input().FullName(), m.IsStreamingClient(),
				m.Output().FullName(), m.IsStreamingServer()))
		}
	}
	return out
}

func describeMessages(ms protoreflect.MessageDescriptors) []string {
	var out []string
	for i := range ms.Len() {
		m := ms.Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			typ := f.Kind().String()
			switch {
			case f.Message() != nil:
				typ = string(f.Message().FullName())
			case f.Enum() != nil:
				typ = string(f.Enum().FullName())
			}
			out = append(out, fmt.Sprintf("message %s %d %s %s %s",
				m.FullName(), f.Number(), f.Name(), f.Cardinality(), typ))
		}
		out = append(out, "message "+string(m.FullName()))
		out = append(out, describeMessages(m.Messages())...)
		out = append(out, describeEnums(m.Enums())...)
	}
	return out
}

func describeEnums(es protoreflect.EnumDescriptors) []string {
	var out []string
	for i := range es.Len() {
		e := es.Get(i)
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			out = append(out, fmt.Sprintf("enum %s %d %s", e.FullName(), v.Number(), v.Name()))
		}
	}
	return out
}

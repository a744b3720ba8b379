package proto_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"doze/plugins/internal/protofill"
)

// The bytes were written by protoc --encode, with Nomad's own .proto files of the version, from
// messages in which each field that the version has is filled.
func TestBytes_ofNomadsOwnFiles_areReadAsTheyWereMeant(t *testing.T) {
	for _, version := range []string{oldest, newest} {
		known := nomads(t, version)
		may := func(f protoreflect.FieldDescriptor) bool { return isKnown(known, f) }
		seen := map[string]bool{}
		for _, line := range goldens(t, version) {
			seen[line.name] = true
			kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(line.name))
			if err != nil {
				t.Errorf("%s: %v", version, err)
				continue
			}
			got := kind.New().Interface()
			if err := proto.Unmarshal(line.raw, got); err != nil {
				t.Errorf("%s: cannot read %s: %v", version, line.name, err)
			}
			// Equal compares what is unknown too.
			if want := protofill.New(kind, line.variant, may); !proto.Equal(got, want) {
				t.Errorf("%s: %s was read as\n%v, it was\n%v", version, line.name, got, want)
			}
		}
		for _, line := range known {
			name, is := strings.CutPrefix(line, "message ")
			if is && !strings.Contains(name, " ") && !strings.HasSuffix(name, "Entry") && !seen[name] {
				t.Errorf("%s: there are no bytes of %s", version, name)
			}
		}
	}
}

// isKnown says whether a version has a field; what is not Nomad's, all have.
func isKnown(lines []string, f protoreflect.FieldDescriptor) bool {
	message := f.ContainingMessage()
	if message.IsMapEntry() || !strings.HasPrefix(string(message.FullName()), "hashicorp.") {
		return true
	}
	prefix := fmt.Sprintf("message %s %d %s ", message.FullName(), f.Number(), f.Name())
	return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
}

type golden struct {
	name    string
	variant int
	raw     []byte
}

func goldens(t *testing.T, version string) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/bytes-" + version + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) != 3 {
			t.Fatalf("cannot read the line %q", line)
		}
		variant, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, golden{name: fields[0], variant: variant, raw: raw})
	}
	return out
}

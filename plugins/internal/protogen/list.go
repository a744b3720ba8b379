package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"doze/plugins/internal/protolist"
)

// list writes what a descriptor set says of Nomad's protocol. In Nomad's source:
//
//	protoc --include_imports --descriptor_set_out=nomad.pb -I. plugins/base/proto/base.proto \
//		plugins/drivers/proto/driver.proto plugins/shared/structs/proto/recoverable_error.proto
func list(path string, to io.Writer) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", path, err)
	}
	var lines []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(f.Package()), "hashicorp.nomad.") {
			lines = append(lines, protolist.Lines(f)...)
		}
		return true
	})
	slices.Sort(lines)
	_, err = fmt.Fprintln(to, strings.Join(lines, "\n"))
	return err
}

// Package protolist writes down what of a .proto file is on the wire: names, numbers, kinds.
// It decides what counts as the same protocol; it never reads or writes files.
package protolist

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Lines describes a file: a line for each message, field, value of an enumeration and method.
func Lines(f protoreflect.FileDescriptor) []string {
	out := append(messages(f.Messages()), enums(f.Enums())...)
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

func messages(ms protoreflect.MessageDescriptors) []string {
	var out []string
	for i := range ms.Len() {
		m := ms.Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			out = append(out, fmt.Sprintf("message %s %d %s %s %s",
				m.FullName(), f.Number(), f.Name(), f.Cardinality(), kind(f)))
		}
		out = append(out, "message "+string(m.FullName()))
		out = append(out, messages(m.Messages())...)
		out = append(out, enums(m.Enums())...)
	}
	return out
}

func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() != nil:
		return string(f.Enum().FullName())
	default:
		return f.Kind().String()
	}
}

func enums(es protoreflect.EnumDescriptors) []string {
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

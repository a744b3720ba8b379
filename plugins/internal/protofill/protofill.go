// Package protofill fills messages for tests: what is left out on the way shows.
package protofill

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// New is a message with something in every field that it may have, and of each oneof in the
// variant'th.
func New(
	kind protoreflect.MessageType, variant int, may func(protoreflect.FieldDescriptor) bool,
) proto.Message {
	m := kind.New()
	filler{variant: variant, may: may}.message(m, 0)
	return m.Interface()
}

// nesting bounds the messages in messages of their own kind, as specs have them.
const nesting = 3

type filler struct {
	variant int
	may     func(protoreflect.FieldDescriptor) bool
}

func (f filler) message(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if depth > nesting && field.Message() != nil || !f.may(field) || !f.chosen(field) {
			continue
		}
		switch {
		case field.IsMap():
			key := protoreflect.ValueOf("key").MapKey() // all of Nomad's have strings
			items := m.Mutable(field).Map()
			items.Set(key, f.value(field.MapValue(), items.NewValue(), depth))
		case field.IsList():
			items := m.Mutable(field).List()
			items.Append(f.value(field, items.NewElement(), depth))
			items.Append(f.value(field, items.NewElement(), depth))
		default:
			m.Set(field, f.value(field, m.NewField(field), depth))
		}
	}
}

func (f filler) chosen(field protoreflect.FieldDescriptor) bool {
	one := field.ContainingOneof()
	return one == nil || field.Index()%one.Fields().Len() == f.variant%one.Fields().Len()
}

func (f filler) value(
	field protoreflect.FieldDescriptor, zero protoreflect.Value, depth int,
) protoreflect.Value {
	n := int(field.Number())
	switch field.Kind() {
	case protoreflect.MessageKind:
		f.message(zero.Message(), depth+1)
		return zero
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(firstBeyondZero(field.Enum().Values()))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("text %d", n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Appendf(nil, "bytes %d", n))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(-n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(n) << 33)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n) << 16)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n) << 40)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) + 0.25)
	default:
		panic(fmt.Sprintf("nothing of Nomad's is a %s", field.Kind()))
	}
}

// firstBeyondZero is a value that every version has, and that is written at all.
func firstBeyondZero(values protoreflect.EnumValueDescriptors) protoreflect.EnumNumber {
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 {
			return n
		}
	}
	return 0
}

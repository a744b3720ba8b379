package wire

import (
	"fmt"

	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
	"doze/plugins/proto/structspb"
)

// FromFingerprint fails on an attribute of a kind that Nomad does not have.
func FromFingerprint(f drivers.Fingerprint) (*driverpb.FingerprintResponse, error) {
	out := &driverpb.FingerprintResponse{
		Attributes:        make(map[string]*structspb.Attribute, len(f.Attributes)),
		Health:            driverpb.FingerprintResponse_HealthState(f.Health),
		HealthDescription: f.Reason,
	}
	for name, a := range f.Attributes {
		pb, err := fromAttribute(a)
		if err != nil {
			return nil, fmt.Errorf("cannot send attribute %q: %w", name, err)
		}
		out.Attributes[name] = pb
	}
	return out, nil
}

func fromAttribute(a drivers.Attribute) (*structspb.Attribute, error) {
	out := &structspb.Attribute{Unit: a.Unit}
	switch v := a.Value.(type) {
	case nil:
		out.Value = &structspb.Attribute_StringVal{}
	case string:
		out.Value = &structspb.Attribute_StringVal{StringVal: v}
	case bool:
		out.Value = &structspb.Attribute_BoolVal{BoolVal: v}
	case int64:
		out.Value = &structspb.Attribute_IntVal{IntVal: v}
	case float64:
		out.Value = &structspb.Attribute_FloatVal{FloatVal: v}
	default:
		return nil, fmt.Errorf("a %T is not a string, bool, int64 or float64", v)
	}
	return out, nil
}

func ToFingerprint(pb *driverpb.FingerprintResponse) drivers.Fingerprint {
	out := drivers.Fingerprint{
		Health: drivers.Health(pb.GetHealth()), Reason: pb.GetHealthDescription(),
		Attributes: make(map[string]drivers.Attribute, len(pb.GetAttributes())),
	}
	for name, a := range pb.GetAttributes() {
		out.Attributes[name] = toAttribute(a)
	}
	return out
}

func toAttribute(pb *structspb.Attribute) drivers.Attribute {
	out := drivers.Attribute{Unit: pb.GetUnit()}
	switch v := pb.GetValue().(type) {
	case *structspb.Attribute_StringVal:
		out.Value = v.StringVal
	case *structspb.Attribute_BoolVal:
		out.Value = v.BoolVal
	case *structspb.Attribute_IntVal:
		out.Value = v.IntVal
	case *structspb.Attribute_FloatVal:
		out.Value = v.FloatVal
	}
	return out
}

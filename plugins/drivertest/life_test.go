package drivertest

import (
	"slices"
	"strings"
	"testing"

	"doze/plugins/proto/basepb"
	"doze/plugins/proto/driverpb"
)

func TestLife_everyRPCOfBothServices_isInIt(t *testing.T) {
	lived := map[string]bool{}
	for _, c := range newLife(t, Subject{}).calls() {
		name, _, _ := strings.Cut(c.name, ",")
		lived[name] = true
	}
	var all []string
	for _, m := range slices.Concat(
		basepb.BasePlugin_ServiceDesc.Methods, driverpb.Driver_ServiceDesc.Methods) {
		all = append(all, m.MethodName)
	}
	for _, s := range driverpb.Driver_ServiceDesc.Streams {
		all = append(all, s.StreamName)
	}
	if len(all) != 21 {
		t.Errorf("the services have %d methods", len(all))
	}
	for _, name := range all {
		if !lived[name] {
			t.Errorf("%s is in no life", name)
		}
	}
}

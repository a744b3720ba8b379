package plugins_test

import (
	"testing"

	"doze/plugins/drivertest"
)

func TestExample_contract_isKept(t *testing.T) {
	drivertest.Contract(t, drivertest.Subject{
		Config: drivertest.Config{Command: plugin(t, "timer")},
		Long:   map[string]any{"for": "1h"},
		Short:  map[string]any{"for": "10ms"},

		Forgetful: true,
	})
}

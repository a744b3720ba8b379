package healthgate_test

import (
	"testing"
	"time"

	"doze/healthgate"
)

func TestDrainConfig_invalid_reportsEveryProblemAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  healthgate.DrainConfig
		want string
	}{
		"all": {
			healthgate.DrainConfig{
				Delay: -time.Second, Timeout: -time.Minute,
				Servers:    []healthgate.DrainServer{nil},
				Background: []healthgate.DrainPart{{}},
				Components: []healthgate.DrainPart{{Name: "database"}},
			},
			`drain_delay -1s: is negative
shutdown_timeout -1m0s: is negative
servers[0]: is nil
background[0]: a name is required
background[0] "": a function is required
components[0] "database": a function is required`,
		},
		"equal": {
			healthgate.DrainConfig{Delay: time.Second, Timeout: time.Second},
			"drain_delay 1s: must be shorter than shutdown_timeout (1s), which it counts within",
		},
		"longer than the default": {
			healthgate.DrainConfig{Delay: 5 * time.Second},
			"drain_delay 5s: must be shorter than shutdown_timeout (4s), which it counts within",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := healthgate.NewDrain(tc.cfg); err == nil || err.Error() != tc.want {
				t.Errorf("got\n%v\nwant\n%s", err, tc.want)
			}
		})
	}
}

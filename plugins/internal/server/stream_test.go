package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/drivers"
	"doze/plugins/internal/server"
	"doze/plugins/proto/driverpb"
)

// flaky is a driver whose streams do what the functions do.
type flaky struct {
	drivers.Driver // has the rest, which nobody calls
	fingerprint    func(send func(drivers.Fingerprint) error) error
	events         func() error
	asked          int
}

func (d *flaky) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	d.asked++
	return d.fingerprint(send)
}

func (d *flaky) Events(context.Context, func(drivers.Event) error) error {
	d.asked++
	return d.events()
}

// stream is an agent's end of a stream of T.
type stream[T any] struct {
	grpc.ServerStream
	ctx  context.Context
	got  []*T
	fail error
}

func (s *stream[T]) Context() context.Context { return s.ctx }

func (s *stream[T]) Send(msg *T) error {
	s.got = append(s.got, msg)
	return s.fail
}

// listen has a stream open for 58 s.
func listen[T any](t *testing.T, call func(*stream[T]) error) (*stream[T], error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 58*time.Second)
	defer cancel()
	s := &stream[T]{ctx: ctx}
	return s, call(s)
}

// An agent whose stream ends opens the next at once, hundreds of thousands in a minute.
func TestFingerprint_driverFails_isUnhealthyAndAskedAgainLater(t *testing.T) {
	for want, fingerprint := range map[string]func(send func(drivers.Fingerprint) error) error{
		"no luck": func(func(drivers.Fingerprint) error) error { return errors.New("no luck") },
		"sent no": func(func(drivers.Fingerprint) error) error { return nil },
		"int is ": func(send func(drivers.Fingerprint) error) error {
			return send(drivers.Fingerprint{Attributes: map[string]drivers.Attribute{"x": {Value: 5}}})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &flaky{fingerprint: fingerprint}
			s, err := listen(t, func(s *stream[driverpb.FingerprintResponse]) error {
				return server.NewDriver(d).Fingerprint(nil, s)
			})
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%s: the stream ended with %v", want, err)
			}
			if d.asked != 12 || len(s.got) != 12 {
				t.Errorf("%s: asked %d times in 58 s, told %d times", want, d.asked, len(s.got))
			}
			for _, f := range s.got {
				if f.GetHealth() != driverpb.FingerprintResponse_UNHEALTHY ||
					!strings.Contains(f.GetHealthDescription(), want) {
					t.Errorf("%s: it was told as %v", want, f)
				}
			}
		})
	}
}

func TestFingerprint_driverRecovers_isHealthyAndTheStreamStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{}
		d.fingerprint = func(send func(drivers.Fingerprint) error) error {
			if d.asked == 1 {
				return errors.New("no luck")
			}
			return send(drivers.Fingerprint{Health: drivers.Healthy})
		}
		s, err := listen(t, func(s *stream[driverpb.FingerprintResponse]) error {
			return server.NewDriver(d).Fingerprint(nil, s)
		})
		if status.Code(err) != codes.DeadlineExceeded || d.asked != 2 || len(s.got) != 2 ||
			s.got[1].GetHealth() != driverpb.FingerprintResponse_HEALTHY {
			t.Errorf("asked %d times, it told %v and ended with %v", d.asked, s.got, err)
		}
	})
}

func TestFingerprint_agentHasGone_endsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{fingerprint: func(send func(drivers.Fingerprint) error) error {
			return send(drivers.Fingerprint{})
		}}
		gone := errors.New("transport is closing")
		s := &stream[driverpb.FingerprintResponse]{ctx: t.Context(), fail: gone}
		if err := server.NewDriver(d).Fingerprint(nil, s); !errors.Is(err, gone) || d.asked != 1 {
			t.Errorf("asked %d times, it ended with %v", d.asked, err)
		}
	})
}

func TestEvents_driverFails_isToldAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &flaky{events: func() error { return errors.New("no luck") }}
		began := time.Now()
		_, err := listen(t, func(s *stream[driverpb.DriverTaskEvent]) error {
			return server.NewDriver(d).TaskEvents(nil, s)
		})
		if status.Code(err) != codes.Unknown || time.Since(began) != 5*time.Second {
			t.Errorf("after %s it ended with %v", time.Since(began), err)
		}
	})
}

package shepherd

import (
	"bytes"
	"net/http"
	"reflect"
	"testing"
	"time"

	"doze/healthgate"
)

// Every field of a probe reaches the shepherd, those of tomorrow too.
func TestLetter_everyField_isHandedOver(t *testing.T) {
	want := Spec{TaskID: "a/b/c", FreezeAfter: time.Second, Shield: []string{"/x"}}
	probe := reflect.ValueOf(&want.Probe).Elem()
	for i := range probe.NumField() {
		switch f := probe.Field(i).Addr().Interface().(type) {
		case *string:
			*f = probe.Type().Field(i).Name
		case *int:
			*f = i + 1
		case *bool:
			*f = true
		case *time.Duration:
			*f = time.Duration(i + 1)
		case *[]string:
			*f = []string{"a", "b"}
		case *http.Header:
			*f = http.Header{"X": {"y"}}
		case *healthgate.DialFunc: // can't be written down
		default:
			t.Fatalf("field %s is not known here", probe.Type().Field(i).Name)
		}
	}
	var wire bytes.Buffer
	if err := want.write(&wire); err != nil {
		t.Fatal(err)
	}
	got, err := readSpec(&wire)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nis not\n%+v: %v", got, want, err)
	}
}

func FuzzLetter_read(f *testing.F) {
	var wire bytes.Buffer
	if err := (&Spec{TaskID: "x"}).write(&wire); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte(`{"Version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := readSpec(bytes.NewReader(text))
		if err == nil {
			_ = s.Validate() // must not panic
		}
	})
}

package drivers

// Fingerprint is what a driver can do on this machine, at this time.
type Fingerprint struct {
	Health Health
	// Reason is shown for the driver in `nomad node status`; keep it a line.
	Reason string
	// Attributes become the node's, which jobs can constrain: name them
	// "driver.<name>.…". A change registers the node again.
	Attributes map[string]Attribute
}

// Health of a driver. Tasks are placed where it is Healthy; tasks that run go on.
type Health int

const (
	Undetected Health = iota // this machine cannot have it
	Unhealthy                // it could, but not as it is
	Healthy
)

func (h Health) String() string {
	switch h {
	case Undetected:
		return "undetected"
	case Unhealthy:
		return "unhealthy"
	case Healthy:
		return "healthy"
	default:
		return "unknown"
	}
}

// Attribute is a value with, for numbers, an optional unit ("MiB", "MHz", …).
// The zero value is an empty string.
type Attribute struct {
	// Value is a string, bool, int64 or float64; nil is "".
	Value any
	Unit  string
}

// Text is an attribute that is a string.
func Text(s string) Attribute { return Attribute{Value: s} }

// Flag is an attribute that is true or false.
func Flag(b bool) Attribute { return Attribute{Value: b} }

// Whole is an attribute that is a whole number, with a unit or "".
func Whole(n int64, unit string) Attribute { return Attribute{Value: n, Unit: unit} }

// Decimal is an attribute that is a number, with a unit or "".
func Decimal(f float64, unit string) Attribute { return Attribute{Value: f, Unit: unit} }

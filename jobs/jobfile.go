package jobs

// CheckFile reads one job file offline, HCL or JSON, and returns the groups in it that
// opted in and everything that is wrong. name is used in messages, and its end (.json)
// says how to read src.
func CheckFile(name string, src []byte) ([]Managed, Diagnostics) { panic("skeleton") }

// CheckRoutes reports every group that claims a route which an earlier one in ms claims.
func CheckRoutes(ms []Managed) Diagnostics { panic("skeleton") }

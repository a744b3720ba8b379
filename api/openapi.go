package api

//go:generate go test -run TestOpenAPI|mistakes -count=1 . -update-reference

import (
	_ "embed"
	"net/http"
)

// problemType is the media type of every error (RFC 9457, section 3).
const problemType = "application/problem+json"

// openAPIDocument is generated from endpoints and package wire by the tests; see
// TestOpenAPI_generatedAnew_isWhatIsCommitted.
//
//go:embed openapi.json
var openAPIDocument []byte

// readOpenAPI answers GET /v1/openapi.json.
func (c *control) readOpenAPI(w http.ResponseWriter, _ *call) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPIDocument) // a client that has gone needs no answer
	return nil
}

// readMetrics answers GET /metrics.
func (c *control) readMetrics(w http.ResponseWriter, r *call) error {
	c.Metrics.ServeHTTP(w, r.Request)
	return nil
}

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"doze/api/wire"
)

const (
	maxBody     = 16 << 10 // bytes
	maxReason   = 200      // bytes
	bodyTimeout = 10 * time.Second
)

// readCommand reads the optional body of a request. Where the endpoint takes none, there
// must be none.
func readCommand(w http.ResponseWriter, r *http.Request, takes bool) (wire.Command, *wire.Problem) {
	var none wire.Command
	if r.ContentLength == 0 || r.Body == nil {
		return none, nil
	}
	if !takes {
		return none, refuseBody(r)
	}
	// A recorder in tests, or a protocol without deadlines: the bound on size stays.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return none, problem(bodyTooLarge, fmt.Sprintf("it has more than %d bytes", maxBody),
			`a command is as short as {"reason": "deploy check"}`)
	}
	if err != nil {
		return none, problem(badBody, fmt.Sprintf("it cannot be read: %v", err))
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // as above
	if len(body) == 0 {
		return none, nil
	}
	return parseCommand(r.Header.Get("Content-Type"), body)
}

// refuseBody lets a body pass that turns out to be empty, as chunked ones may.
func refuseBody(r *http.Request) *wire.Problem {
	if r.ContentLength < 0 {
		if n, err := r.Body.Read(make([]byte, 1)); n == 0 && err == io.EOF {
			return nil
		}
	}
	return problem(badBody, "this request takes no body", "everything is said in the path "+
		"and the query; send none")
}

func parseCommand(mediaType string, body []byte) (cmd wire.Command, p *wire.Problem) {
	if t, _, err := mime.ParseMediaType(mediaType); err != nil || t != "application/json" {
		return cmd, problem(wrongMediaType, fmt.Sprintf("its Content-Type is %q", mediaType),
			"send “Content-Type: application/json”, or no body at all")
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&cmd)
	if err == nil {
		if _, after := dec.Token(); after != io.EOF {
			err = errors.New("there is something after the JSON object")
		}
	}
	if err != nil {
		return cmd, problem(badBody, "it is not a command in JSON: "+jsonFault(err),
			`send {"reason": "deploy check"}, or no body at all`)
	}
	return cmd, checkReason(cmd.Reason)
}

// jsonFault words an error of encoding/json for somebody who does not see our types.
func jsonFault(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return fmt.Sprintf("it must be an object, not %s", wrong.Value)
		}
		return fmt.Sprintf("%s must be a %s, not %s", wrong.Field, wrong.Type, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// checkReason keeps what goes into histories and logs on one short line.
func checkReason(reason string) *wire.Problem {
	detail := ""
	switch {
	case len(reason) > maxReason:
		detail = fmt.Sprintf("reason has %d bytes, more than %d", len(reason), maxReason)
	case strings.ContainsFunc(reason, unicode.IsControl):
		detail = "reason has a line break or another control character in it"
	default:
		return nil
	}
	p := problem(badBody, detail, "write one short line")
	p.Parameter = "reason"
	return p
}

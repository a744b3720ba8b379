package api

import "io"

// unclosedBody keeps a transport that could not connect from closing the request's body,
// which the next attempt needs.
type unclosedBody struct{ io.Reader }

func (unclosedBody) Close() error { return nil }

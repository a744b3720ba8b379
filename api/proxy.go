package api

import (
	"net/http"
	"net/http/httputil"
	"strings"
)

// serve sends the request to the target and its answer to w. An error means that nothing
// has been written to w; healthgate.ErrDial in its chain, that nothing has been sent to
// the target either. An answer that breaks off panics with http.ErrAbortHandler, which has
// the server cut the client's connection.
func (up *upstream) serve(w http.ResponseWriter, r *http.Request) error {
	var failure error
	transport := up.h1
	if isGRPC(r) {
		transport = up.h2
	}
	proxy := httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       up.rewrite,
		ErrorHandler:  func(_ http.ResponseWriter, _ *http.Request, err error) { failure = err },
	}
	if r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody {
		// Refused only by writers that are always full duplex.
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	proxy.ServeHTTP(w, r)
	return failure
}

func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

func (up *upstream) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host = "http", up.addr
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	p.SetXForwarded()
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v := p.In.Header[name]; v != nil {
			p.Out.Header[name] = v
		}
	}
	if p.Out.Body != nil {
		p.Out.Body = unclosedBody{p.Out.Body}
	}
}

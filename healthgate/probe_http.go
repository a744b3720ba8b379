package healthgate

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
)

const (
	bodyLimit     = 64 << 10 // of a body that is matched
	answerLimit   = 1 << 20  // of all bytes read in one probe
	interimLimit  = 8        // of 1xx answers before the real one
	probeIdentity = "doze-probe"
)

// httpProbe sends one request over a connection of its own, which it closes: redirects are
// not followed, no connection is kept, no goroutine outlives a probe.
type httpProbe struct {
	method   string
	target   *url.URL // path and query
	host     string   // "" is the address
	header   http.Header
	statuses Statuses
	body     *regexp.Regexp // nil: any
	tls      *tls.Config    // nil: cleartext
	dial     DialFunc
}

func (c ProbeConfig) newHTTP() (*httpProbe, error) {
	target, err := url.ParseRequestURI(c.Path)
	if err != nil {
		return nil, &FieldError{"path", err.Error()}
	}
	statuses, err := ParseStatuses(c.Statuses)
	if err != nil {
		return nil, &FieldError{"statuses", err.Error()}
	}
	p := &httpProbe{
		method: c.Method, target: target, host: c.Host, header: c.Header.Clone(),
		statuses: statuses, dial: c.Dial,
	}
	if c.TLS {
		p.tls = tlsConfig(c.Host, "http/1.1")
	}
	if c.Body != "" {
		p.body, err = regexp.Compile(c.Body)
	}
	if err != nil {
		return nil, &FieldError{"body", err.Error()}
	}
	return p, nil
}

// tlsConfig does not verify the certificate: the probe asks for readiness, not identity,
// and a target is reached by address.
func tlsConfig(host, proto string) *tls.Config {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return &tls.Config{
		ServerName: host, InsecureSkipVerify: true, NextProtos: []string{proto},
	}
}

func (p *httpProbe) Probe(ctx context.Context, addr string) error {
	conn, err := dial(ctx, p.dial, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if p.tls != nil {
		secure := tls.Client(conn, serverName(p.tls, addr))
		if err := secure.HandshakeContext(ctx); err != nil {
			return unanswered(ctx, err)
		}
		conn = secure
	}
	return p.exchange(ctx, conn, addr)
}

// serverName has the address stand in for a name that was not configured.
func serverName(c *tls.Config, addr string) *tls.Config {
	if host, _, err := net.SplitHostPort(addr); err == nil && c.ServerName == "" {
		c = c.Clone()
		c.ServerName = host
	}
	return c
}

func (p *httpProbe) exchange(ctx context.Context, conn net.Conn, addr string) error {
	req := p.request(addr)
	if err := req.Write(conn); err != nil {
		return unanswered(ctx, err)
	}
	resp, err := readAnswer(bufio.NewReader(io.LimitReader(conn, answerLimit)), req)
	if err != nil {
		return unanswered(ctx, err)
	}
	if !p.statuses.Contains(resp.StatusCode) {
		return rejected("answered %d, not one of %s", resp.StatusCode, p.statuses)
	}
	return p.match(ctx, resp.Body)
}

func (p *httpProbe) request(addr string) *http.Request {
	host := p.host
	if host == "" {
		host = addr
	}
	header := p.header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	if _, ok := header["User-Agent"]; !ok {
		header.Set("User-Agent", probeIdentity)
	}
	u := *p.target
	u.Host = addr
	return &http.Request{
		Method: p.method, URL: &u, Host: host, Header: header, Close: true,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// readAnswer skips interim answers (RFC 9110, section 15.2). The body is left unclosed on
// purpose: closing would read on to its end, which a stream does not have; the connection
// is closed instead.
func readAnswer(r *bufio.Reader, req *http.Request) (*http.Response, error) {
	for range interimLimit {
		resp, err := http.ReadResponse(r, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
	return nil, fmt.Errorf("more than %d interim answers", interimLimit)
}

func (p *httpProbe) match(ctx context.Context, body io.Reader) error {
	if p.body == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(body, bodyLimit))
	if err != nil {
		return unanswered(ctx, err)
	}
	if !p.body.Match(text) {
		return rejected("the body does not match %q", p.body)
	}
	return nil
}
